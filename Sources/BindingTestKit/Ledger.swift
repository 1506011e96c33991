import BindingHub
import BindingWire

/// What the hub's store took, seen from outside: the one truth that every replica is held against.
struct Ledger {
  struct Place: Hashable {
    let model: String
    let epoch: Epoch
    let version: Version
  }
  struct Entry {
    let tag: Tag
    let number: ProposalNumber
    let changes: [String: FieldValue?]
  }
  private(set) var entries: [Place: Entry] = [:]
  /// The whole model at each version.
  private(set) var states: [Place: [String: FieldValue]] = [:]
  private var names: [String: [FieldID: String]] = [:]
  private var present: [String: [String: FieldValue]] = [:]
  private(set) var commits = 0
  private var proposals: Swift.Set<String> = []
  /// In which epoch each proposal was carried out first: in a later one a rescue may have brought it back.
  private var firstEpochs: [String: Epoch] = [:]
  /// The proposal that brought each value: the values that peers of this world write are all different.
  private var bringers: [String: String] = [:]

  /// A hub has started with this log: models stand where it leaves them.
  mutating func begin(_ epoch: Epoch, with log: [Batch]) {
    present.removeAll()
    names.removeAll()
    var heads: [String: Version] = [:]
    for batch in log {
      heads[batch.model] = batch.version
      guard let group = try? CommitGroup.decode(batch.body) else { continue }
      learn(group.names, of: batch.model)
      present[batch.model] = states[Place(model: batch.model, epoch: batch.epoch, version: batch.version)]
      // What is left of earlier lives stands in the new one too, under the same versions.
      for version in group.previous + 1...group.version {
        entries[Place(model: batch.model, epoch: epoch, version: version)] =
          entries[Place(model: batch.model, epoch: batch.epoch, version: version)]
      }
    }
    for (model, version) in heads {
      states[Place(model: model, epoch: epoch, version: version)] = present[model] ?? [:]
    }
  }

  func nameCount(_ model: String) -> FieldID { FieldID(names[model]?.count ?? 0) }

  func field(_ name: String, of model: String) -> FieldID? { names[model]?.first { $0.value == name }?.key }

  private mutating func learn(_ run: NamesRun, of model: String) {
    for (offset, name) in run.names.enumerated() { names[model, default: [:]][run.first + FieldID(offset)] = name }
  }

  /// Enters a batch. Throws a sentence when it breaks the order or carries out a proposal twice.
  mutating func enter(_ batch: Batch) throws(Broken) {
    guard !batch.body.isEmpty else { return }
    guard let group = try? CommitGroup.decode(batch.body) else { throw Broken("the body of a batch does not parse") }
    var state = present[batch.model] ?? [:]
    learn(group.names, of: batch.model)
    var version = group.previous
    for commit in group.commits {
      version += 1
      let place = Place(model: batch.model, epoch: group.epoch, version: version)
      guard entries[place] == nil else {
        throw Broken("version \(version) of \(batch.model) was decided twice in one epoch")
      }
      let tag = group.origins[Int(commit.origin)].tag
      var changes: [String: FieldValue?] = [:]
      for change in commit.changes {
        guard let name = names[batch.model]?[change.field] else {
          throw Broken("a commit names field \(change.field) of \(batch.model), which has no name")
        }
        changes.updateValue(change.value, forKey: name)
        state[name] = change.value
        guard let value = change.value?.description, value.hasPrefix("\"p") else { continue }
        let bringer = "\(tag.rawValue) \(commit.number)"
        guard bringers.updateValue(bringer, forKey: "\(batch.model).\(name) \(value)") ?? bringer == bringer else {
          throw Broken("\(value) was written to \(batch.model).\(name) twice, under two numbers")
        }
      }
      // A rescue may bring the fields of one old proposal back in two steps, but never one field of it twice.
      for field in changes.keys {
        let key = "\(batch.model).\(field) \(group.epoch) \(tag.rawValue) \(commit.number)"
        guard proposals.insert(key).inserted else { throw Broken("proposal \(key) was carried out twice") }
      }
      let proposal = "\(batch.model) \(tag.rawValue) \(commit.number)"
      firstEpochs[proposal] = firstEpochs[proposal] ?? group.epoch
      if firstEpochs[proposal] == group.epoch { try check(changes, in: state, at: place) }
      entries[place] = Entry(tag: tag, number: commit.number, changes: changes)
      states[place] = state
      commits += 1
    }
    present[batch.model] = state
  }

  /// What a proposal wrote fits the description that it left.
  private func check(
    _ changes: [String: FieldValue?], in state: [String: FieldValue], at place: Place
  ) throws(Broken) {
    guard let most = try? state[Names.description]?.json["fields"]?["n"]?["max"]?.int64,
      case .some(.some(let value)) = changes["n"], let number = try? value.json.int64
    else { return }
    if number > most {
      throw Broken("version \(place.version) of \(place.model) wrote \(number) where \(most) is the most")
    }
  }
}

/// An invariant that does not hold, in a sentence.
public struct Broken: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

extension CommitGroup {
  static func decode(_ body: [UInt8]) throws(WireError) -> CommitGroup {
    try body.withUnsafeBytes { bytes in
      Result { () throws(WireError) in
        var reader = WireReader(bytes, message: "commits")
        return try CommitGroup(from: &reader)
      }
    }.get()
  }
}
