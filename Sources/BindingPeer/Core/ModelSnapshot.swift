package import BindingProtocol

/// What one model holds and shows, taken at once: for a simulation that holds it against its own truth.
package struct ModelSnapshot {
  package var epoch: Epoch = 0
  package var version: Version = 0
  /// By the fields asked for.
  package var committed: [FieldValue?] = []
  package var shown: [FieldValue?] = []
  /// Writes that still lie over the committed values, oldest first.
  package var overlaid: [WriteID] = []
  /// The number of each of them; nil: it has none.
  package var numbers: [ProposalNumber?] = []
  /// By the replica's fields: which of those asked for each was the last time; it is looked there first.
  fileprivate var guesses: [Int] = []

  package init() {}
}

extension Session {
  /// Whether a line is joined, or was left and something that was written to it has no outcome.
  package func knows(_ id: String) -> Bool { models.index(of: id) != nil }

  /// Fills a snapshot with what is here of a model; with nothing if it is not joined. What shows is looked at for the
  /// fields that are `meant`; the others show as they are committed.
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

  /// Which of the fields a name is, the one at that place of a replica.
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
