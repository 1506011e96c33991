import BindingProtocol

/// What a shared store tells its hub.
package enum SharedEvent: Sendable {
  /// Whether the engine answers. While it does not, nothing is acknowledged and what a hub shows may be old.
  case connected(Bool)

  /// Answers to batches of the append with this number.
  case appended(UInt64, [SharedAnswer])

  /// A model as it is at its head's revision, with everything up to that; nil: it never was, or was removed (the head
  /// tells which).
  ///
  /// An error says that the bytes of this model cannot be read; the others are not concerned.
  case loaded(SharedHead, Result<StoredModel?, StoreError>)

  /// What a fold of a model needs, as it is at one revision no older than the call; nil: the model never was, or was
  /// removed.
  case foldable(String, Result<StoredModel?, StoreError>)

  /// A model's head as it was at a revision no older than the call.
  case head(SharedHead)

  /// A page of models; `isLast`: there are none after it.
  case listed(prefix: String, [SharedHead], isLast: Bool)

  /// The result of folding a model.
  case folded(String, SharedFolded)

  /// A page of history.
  case history(HistoryQuery, Result<HistoryAnswer, StoreError>)

  /// Records that were stored after the tail's last position, of all models and all hubs, this one included, in order
  /// of revision; the tail is complete up to the position then.
  ///
  /// A record of a model with an append under way is never delivered before that append's answer if it stands at the
  /// append's place or after it: where the tail is faster than the answer, it makes the answer, or comes with it.
  ///
  /// A record may come again, and one may be missing: the latter shows as a gap before the model's next record, or
  /// within 4 s as `changed`.
  case followed([SharedRecord], SharedRevision)

  /// All that was stored up to this position has been delivered, or was there before the store began: what the hub has
  /// of a model is no older than this, unless `changed` names it.
  case caughtUp(SharedRevision)

  /// All that was stored before the call of `sync` with this number has been delivered, or named in `changed`.
  case synced(UInt64)

  /// The tail lost its place: the records after its last position, up to this one, are not delivered by it. `changed`
  /// names every model that is concerned, and then `caughtUp` comes. Nothing but loading these is to be done.
  case lost(SharedRevision)

  /// Heads of which the tail did not deliver the last change. A hub that has such a model with an older record loads
  /// it.
  case changed([SharedHead])

  /// How much room there is, when that changes.
  case room(SharedRoom)

  /// How durably batches are stored, when that changes, with the reason.
  case grade(SharedGrade, String)

  /// What is in which shard has changed, as the root tells; nil: something was moved out of this shard, or back into
  /// it, and the root can tell. `ShardedStore` alone handles it.
  case resharded(ShardMap?)

  /// The store cannot go on: another log or epoch is there now, or what cannot be remedied by trying again. It is the
  /// last event, and the hub ends as with a failed `Store`.
  case failed(StoreError)
}

/// The answer to one batch.
package struct SharedAnswer: Sendable {
  /// The model's id.
  package var model: String
  /// The number of the batch's record.
  package var record: UInt64
  /// What became of it.
  package var result: SharedAppended
  /// What the tail has shown meanwhile of the records after the batch's place, in their order. They are not `followed`:
  /// who waits for what was stored by now must not be answered between the two.
  package var later: [SharedRecord]

  /// The answer to the batch of this model and record.
  package init(_ model: String, _ record: UInt64, _ result: SharedAppended, later: [SharedRecord] = []) {
    self.model = model
    self.record = record
    self.result = result
    self.later = later
  }
}

/// What became of a batch.
package enum SharedAppended: Sendable, Hashable {
  /// It is stored, at this revision, as durably as the store says.
  case stored(SharedRevision)
  /// It is not stored and never will be: other records stand after the head on which it was decided. These are the
  /// first of them in order, at least one; more may follow by the tail.
  case moved([SharedRecord])
  /// Other records stand there, or it does, and they are folded already: the model has to be loaded. The outcomes in it
  /// tell what became of the batch's proposals.
  case folded(SharedHead)
  /// It may be stored or not, or be stored later: the engine did not answer for as long as the store tries. To append
  /// it again settles it; to load the model does not.
  case unknown
  /// It is not stored, for want of room.
  case full
  /// It is not stored: it has more than `maxBatchBytes`.
  case tooLarge
}

/// The result of folding.
package enum SharedFolded: Sendable, Hashable {
  /// The chunks are in force, and the records before the last one that they contain are gone.
  case folded
  /// Another fold was first, or the model was removed. Nothing of this one remains.
  case outrun
  /// There is no room, or the chunks are more than the engine takes at once. The model is as it was.
  case refused(String)
}
