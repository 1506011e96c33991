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
    /// The life of the log and of the hub in which it was decided.
    let epoch: Epoch
    let life: Int
    let isRescued: Bool
  }
  /// A proposal, wherever it was decided.
  struct Name: Hashable {
    let model: String
    let tag: Tag
    let number: ProposalNumber
  }
  struct Writer: Hashable {
    let model: String
    let tag: Tag
  }
  private struct Part: Hashable {
    let name: Name
    let field: String
    let epoch: Epoch
  }
  private struct Written: Hashable {
    let model: String
    let field: String
    let value: FieldValue
  }
  private(set) var entries: [Place: Entry] = [:]
  /// The whole model at each version.
  private(set) var states: [Place: [String: FieldValue]] = [:]
  /// What became of the proposals that are no commits.
  private(set) var decisions: [Name: (kind: WireOutcome.Kind, life: Int)] = [:]
  private var marks: [Writer: ProposalNumber] = [:]
  private var names: [String: [FieldID: String]] = [:]
  private var present: [String: [String: FieldValue]] = [:]
  private var parts: Swift.Set<Part> = []
  /// Where a value that only one write has was committed, in the log as it is now.
  private var written: [Written: (place: Place, name: Name)] = [:]
  /// Proposals that were ever stored: only those may come back out of their order, in a rescue.
  private var everStored: Swift.Set<Name> = []
  private(set) var decided: UInt64 = 0

  func nameCount(_ model: String) -> FieldID { FieldID(names[model]?.count ?? 0) }

  func field(_ name: String, of model: String) -> FieldID? { names[model]?.first { $0.value == name }?.key }

  func mark(of tag: Tag, in model: String) -> ProposalNumber { marks[Writer(model: model, tag: tag)] ?? 0 }

  /// Where the log holds this value of a field, which no other write has.
  func place(of value: FieldValue, in field: String, of model: String) -> Place? {
    written[Written(model: model, field: field, value: value)]?.place
  }

  /// A hub has started with this log, or a new life of it has begun: models stand where it leaves them.
  mutating func begin(_ epoch: Epoch, with log: [Batch]) {
    present.removeAll()
    names.removeAll()
    marks.removeAll()
    written.removeAll()
    decisions.removeAll()
    var heads: [String: Version] = [:]
    for batch in log {
      heads[batch.model] = batch.version
      note(batch.decisions, of: batch.model, life: 0)
      guard let group = try? CommitGroup.decode(batch.body) else { continue }
      learn(group.names, of: batch.model)
      present[batch.model] = states[Place(model: batch.model, epoch: batch.epoch, version: batch.version)]
      // What is left of earlier lives stands in the new one too, under the same versions.
      for version in group.previous + 1...group.version {
        let place = Place(model: batch.model, epoch: epoch, version: version)
        entries[place] = entries[Place(model: batch.model, epoch: batch.epoch, version: version)]
        guard let entry = entries[place] else { continue }
        let name = Name(model: batch.model, tag: entry.tag, number: entry.number)
        raise(entry.tag, to: entry.number, in: batch.model)
        for (field, value) in entry.changes { note(value, in: field, name, place) }
      }
    }
    for (model, version) in heads {
      states[Place(model: model, epoch: epoch, version: version)] = present[model] ?? [:]
    }
  }

  /// Enters a batch. Throws a sentence when it breaks the order or carries out a proposal twice.
  mutating func enter(_ batch: Batch, epoch: Epoch, life: Int) throws(Broken) {
    let group: CommitGroup?
    if batch.body.isEmpty {
      group = nil
    } else {
      group = try? CommitGroup.decode(batch.body)
      if group == nil { throw Broken(.trueReplica, "the body of a batch does not parse") }
    }
    try checkDense(batch, group)
    note(batch.decisions, of: batch.model, life: life)
    guard let group else { return }
    var state = present[batch.model] ?? [:]
    learn(group.names, of: batch.model)
    var version = group.previous
    for commit in group.commits {
      version += 1
      let place = Place(model: batch.model, epoch: group.epoch, version: version)
      try enter(commit, of: group, at: place, life, &state)
      // A batch may still be under way when its peers prove a loss: it stands in the new life too.
      guard epoch != group.epoch else { continue }
      let later = Place(model: batch.model, epoch: epoch, version: version)
      entries[later] = entries[place]
      states[later] = state
    }
    present[batch.model] = state
  }

  private mutating func enter(
    _ commit: Commit, of group: CommitGroup, at place: Place, _ life: Int,
    _ state: inout [String: FieldValue]
  ) throws(Broken) {
    guard entries[place] == nil else {
      throw Broken(.order, "version \(place.version) of \(place.model) was decided twice in one epoch")
    }
    let tag = group.origins[Int(commit.origin)].tag
    let name = Name(model: place.model, tag: tag, number: commit.number)
    if commit.hops > 8 { throw Broken(.hops, "version \(place.version) of \(place.model) is \(commit.hops) hops deep") }
    var changes: [String: FieldValue?] = [:]
    for change in commit.changes {
      guard let field = names[place.model]?[change.field] else {
        throw Broken(.trueReplica, "a commit names field \(change.field) of \(place.model), which has no name")
      }
      changes.updateValue(change.value, forKey: field)
      state[field] = change.value
      // A rescue may bring the fields of one old proposal back in two steps, but never one field of it twice.
      guard parts.insert(Part(name: name, field: field, epoch: place.epoch)).inserted else {
        throw Broken(.exactlyOnce, "proposal \(name.number) of \(name.tag.short) changed \(field) twice")
      }
      if let value = change.value, let earlier = written[Written(model: place.model, field: field, value: value)],
        earlier.name != name
      {
        throw Broken(.exactlyOnce, "\(value) was written to \(field) as \(earlier.name.number) and \(name.number)")
      }
      note(change.value, in: field, name, place)
    }
    if !everStored.contains(name) { try check(changes, in: state, at: place) }
    entries[place] = Entry(
      tag: tag, number: commit.number, changes: changes, epoch: place.epoch, life: life,
      isRescued: everStored.contains(name))
    states[place] = state
    raise(tag, to: commit.number, in: place.model)
    everStored.insert(name)
    decided += 1
  }

  /// What a proposal wrote fits the description that it left.
  private func check(
    _ changes: [String: FieldValue?], in state: [String: FieldValue], at place: Place
  ) throws(Broken) {
    guard let most = try? state[Names.description]?.json["fields"]?["n"]?["max"]?.int64,
      case .some(.some(let value)) = changes["n"], let number = try? value.json.int64
    else { return }
    if number > most {
      throw Broken(
        .description, "version \(place.version) of \(place.model) wrote \(number) where \(most) is the most")
    }
  }

  private mutating func note(_ value: FieldValue?, in field: String, _ name: Name, _ place: Place) {
    guard let value, value.bytes.first == UInt8(ascii: "\"") else { return }
    written[Written(model: name.model, field: field, value: value)] = (place, name)
  }

  private mutating func note(_ new: [Decision], of model: String, life: Int) {
    for decision in new {
      raise(decision.origin.tag, to: decision.number, in: model)
      guard let rest = decision.outcome else { continue }
      let kind = WireOutcome(topic: Topics.firstModel, number: decision.number, rest).kind
      decisions[Name(model: model, tag: decision.origin.tag, number: decision.number)] = (kind, life)
      if life > 0 { decided += 1 }
    }
  }

  /// R3: the numbers of a writer follow each other; only a join raises them, and only a rescue brings old ones back.
  private func checkDense(_ batch: Batch, _ group: CommitGroup?) throws(Broken) {
    var numbers: [Tag: [(number: ProposalNumber, isRaise: Bool)]] = [:]
    for decision in batch.decisions {
      numbers[decision.origin.tag, default: []].append((decision.number, decision.outcome == nil))
    }
    for commit in group?.commits ?? [] {
      guard let tag = group?.origins[Int(commit.origin)].tag, tag != .none else { continue }
      let wasStored = everStored.contains(Name(model: batch.model, tag: tag, number: commit.number))
      numbers[tag, default: []].append((commit.number, wasStored))
    }
    for (tag, list) in numbers {
      var mark = self.mark(of: tag, in: batch.model)
      for (number, isRaise) in list.sorted(by: { $0.number < $1.number }) {
        if !isRaise, number <= mark {
          throw Broken(.exactlyOnce, "proposal \(number) of \(tag.short) was decided again")
        }
        if !isRaise, number != mark + 1 {
          throw Broken(.dense, "proposal \(number) of \(tag.short) was decided after \(mark)")
        }
        mark = max(mark, number)
      }
    }
  }

  private mutating func raise(_ tag: Tag, to number: ProposalNumber, in model: String) {
    let writer = Writer(model: model, tag: tag)
    marks[writer] = max(marks[writer] ?? 0, number)
  }

  private mutating func learn(_ run: NamesRun, of model: String) {
    for (offset, name) in run.names.enumerated() { names[model, default: [:]][run.first + FieldID(offset)] = name }
  }
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
