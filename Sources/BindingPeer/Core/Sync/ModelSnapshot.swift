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
  private var guesses: [Int] = []

  package init() {}
}

extension ModelSnapshot {
  /// Takes the state of a model. The overlay is evaluated only for the fields that are `meant`; the others show their
  /// committed values.
  mutating func take(_ model: ModelSync, _ fields: [String], meant: [Bool]) {
    (epoch, version) = (model.replica.epoch, model.replica.version)
    for index in model.replica.fields.indices {
      guard let field = self.index(of: model.replica.fields[index].name, at: index, in: fields) else { continue }
      committed[field] = model.replica.fields[index].value
      shown[field] = model.base(at: index)
    }
    guard !model.writes.isEmpty else { return }
    for write in model.writes.overlaid {
      overlaid.append(write)
      numbers.append(model.writes[write]?.number)
    }
    for field in model.writes.fields {
      guard let index = fields.firstIndex(of: field), meant[index] else { continue }
      shown[index] = model.shown(field)
    }
  }

  /// Empties the snapshot, for this many fields.
  mutating func clear(_ count: Int) {
    if committed.count != count {
      committed = Array(repeating: nil, count: count)
      shown = committed
    } else {
      committed.withUnsafeMutableBufferPointer { $0.update(repeating: nil) }
      shown.withUnsafeMutableBufferPointer { $0.update(repeating: nil) }
    }
    (epoch, version) = (0, 0)
    overlaid.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
  }

  /// The index in `fields` of `name`, which is the replica's field at `index`.
  private mutating func index(of name: String, at index: Int, in fields: [String]) -> Int? {
    if index < guesses.count, guesses[index] < fields.count, fields[guesses[index]] == name { return guesses[index] }
    guard let found = fields.firstIndex(of: name) else { return nil }
    while guesses.count <= index { guesses.append(0) }
    guesses[index] = found
    return found
  }
}
