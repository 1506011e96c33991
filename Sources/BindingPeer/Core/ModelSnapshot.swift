package import BindingProtocol

/// What one model holds and shows, taken at once: for a simulation that holds it against its own truth.
package struct ModelSnapshot {
  package var epoch: Epoch = 0
  package var version: Version = 0
  /// By the fields asked for.
  package var committed: [FieldValue?] = []
  package var shown: [FieldValue?] = []
  /// Writes that still lie over the committed values, oldest first.
  package var laidOver: [WriteID] = []
  /// The number of each of them; nil: it has none.
  package var numbers: [ProposalNumber?] = []
  /// By the replica's fields: which of those asked for each was the last time; it is looked there first.
  fileprivate var guesses: [Int] = []

  package init() {}
}

extension Session {
  /// Whether a line is joined, or was left and something that was written to it has no outcome.
  package func knows(_ id: String) -> Bool { models.place(of: id) != nil }

  /// Fills a snapshot with what is here of a model; with nothing if it is not joined. What shows is looked at for the
  /// fields that are `meant`; the others show as they are committed.
  package func look(at id: String, _ fields: [String], meant: [Bool], into snapshot: inout ModelSnapshot) {
    snapshot.clear(fields.count)
    (snapshot.epoch, snapshot.version) = (0, 0)
    guard let place = models.place(of: id) else { return }
    models[at: place].look(at: fields, meant: meant, into: &snapshot)
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
    laidOver.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
  }

  /// Which of the fields a name is, the one at that place of a replica.
  fileprivate mutating func place(of name: String, at place: Int, in fields: [String]) -> Int? {
    if place < guesses.count, guesses[place] < fields.count, fields[guesses[place]] == name { return guesses[place] }
    guard let found = fields.firstIndex(of: name) else { return nil }
    while guesses.count <= place { guesses.append(0) }
    guesses[place] = found
    return found
  }
}

extension PeerModel {
  fileprivate func look(at fields: [String], meant: [Bool], into snapshot: inout ModelSnapshot) {
    (snapshot.epoch, snapshot.version) = (replica.epoch, replica.version)
    for place in replica.fields.indices {
      guard let field = snapshot.place(of: replica.fields[place].name, at: place, in: fields) else { continue }
      snapshot.committed[field] = replica.fields[place].value
      snapshot.shown[field] = replica.fields[place].value
    }
    guard !outbox.isEmpty else { return }
    for write in outbox.laidOver {
      snapshot.laidOver.append(write)
      snapshot.numbers.append(outbox[write]?.number)
    }
    for field in outbox.fields {
      guard let place = fields.firstIndex(of: field), meant[place] else { continue }
      snapshot.shown[place] = shown(field)
    }
  }
}
