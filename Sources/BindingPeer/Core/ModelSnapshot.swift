package import BindingProtocol

/// What a model holds and shows at one moment, for a simulation that checks it against its own record.
package struct ModelSnapshot {
  package var epoch: Epoch = 0
  package var version: Version = 0
  /// The committed values, in the order of the requested fields.
  package var committed: [FieldValue?] = []
  package var shown: [FieldValue?] = []
  /// The writes that still overlay the committed values, oldest first.
  package var overlaid: [WriteID] = []
  /// The proposal number of each of those writes; nil: none assigned.
  package var numbers: [ProposalNumber?] = []
  /// For each field of the replica, its index among the requested fields at the last look; tried first.
  fileprivate var guesses: [Int] = []

  package init() {}
}

extension Session {
  /// Whether a model is joined, or was left with writes that have no outcome.
  package func knows(_ id: String) -> Bool { models.index(of: id) != nil }

  /// Fills a snapshot with the state of a model; empties it if the model is not joined. The overlay is evaluated only
  /// for the fields that are `meant`; the others show their committed values.
  package func look(at id: String, _ fields: [String], meant: [Bool], into snapshot: inout ModelSnapshot) {
    snapshot.clear(fields.count)
    (snapshot.epoch, snapshot.version) = (0, 0)
    guard let index = models.index(of: id) else { return }
    models[at: index].look(at: fields, meant: meant, into: &snapshot)
  }
}

extension ModelSnapshot {
  fileprivate mutating func clear(_ count: Int) {
    if committed.count != count {
      committed = Array(repeating: nil, count: count)
      shown = committed
    } else {
      committed.withUnsafeMutableBufferPointer { $0.update(repeating: nil) }
      shown.withUnsafeMutableBufferPointer { $0.update(repeating: nil) }
    }
    overlaid.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
  }

  /// The index in `fields` of `name`, which is the replica's field at `index`.
  fileprivate mutating func index(of name: String, at index: Int, in fields: [String]) -> Int? {
    if index < guesses.count, guesses[index] < fields.count, fields[guesses[index]] == name { return guesses[index] }
    guard let found = fields.firstIndex(of: name) else { return nil }
    while guesses.count <= index { guesses.append(0) }
    guesses[index] = found
    return found
  }
}

extension PeerModel {
  fileprivate func look(at fields: [String], meant: [Bool], into snapshot: inout ModelSnapshot) {
    (snapshot.epoch, snapshot.version) = (replica.epoch, replica.version)
    for index in replica.fields.indices {
      guard let field = snapshot.index(of: replica.fields[index].name, at: index, in: fields) else { continue }
      snapshot.committed[field] = replica.fields[index].value
      snapshot.shown[field] = replica.fields[index].value
    }
    guard !outbox.isEmpty else { return }
    for write in outbox.overlaid {
      snapshot.overlaid.append(write)
      snapshot.numbers.append(outbox[write]?.number)
    }
    for field in outbox.fields {
      guard let index = fields.firstIndex(of: field), meant[index] else { continue }
      snapshot.shown[index] = shown(field)
    }
  }
}
