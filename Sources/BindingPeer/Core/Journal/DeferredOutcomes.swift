import BindingProtocol

/// Outcomes that the outbox records only once the replica that contains them is stored. Until they are recorded, and
/// that is stored too, the hub is not told that this peer has them: whenever the program dies, the next run finds the
/// write either in the replica or still pending.
struct DeferredOutcomes: Sendable {
  private enum Stage: Sendable {
    /// The replica need not contain it yet.
    case waiting
    /// A record of the replica that contains it is being stored.
    case storing
    /// The replica is stored: the next records include this outcome.
    case contained
    /// The outcome is being stored.
    case recording
  }
  private struct Entry: Sendable {
    let id: WriteID
    let number: ProposalNumber
    let model: String
    let outcome: Outcome
    var stage = Stage.waiting
  }
  private var entries: [Entry] = []

  var isEmpty: Bool { entries.isEmpty }
  /// Whether outcomes can be recorded now.
  var isDue: Bool { entries.contains { $0.stage == .contained } }

  mutating func append(_ id: WriteID, _ number: ProposalNumber, in model: String, as outcome: Outcome) {
    entries.append(Entry(id: id, number: number, model: model, outcome: outcome))
  }

  /// The lowest number of a model's outcomes that are not stored.
  func lowest(in model: String) -> ProposalNumber? {
    entries.lazy.filter { $0.model == model }.map(\.number).min()
  }

  /// The entries to store now. Their replicas are stored with them: those outcomes follow the next time.
  /// - Parameter isContained: whether the replicas that are being stored contain a model's commit.
  mutating func take(_ isContained: (_ model: String, _ outcome: Outcome) -> Bool) -> [JournalEntry] {
    var taken: [JournalEntry] = []
    for index in entries.indices {
      switch entries[index].stage {
      case .contained:
        entries[index].stage = .recording
        taken.append(.decided(entries[index].id, JournalEntry.Decided(entries[index].outcome)))
      case .waiting where isContained(entries[index].model, entries[index].outcome):
        entries[index].stage = .storing
      case .waiting, .storing, .recording: break
      }
    }
    return taken
  }

  /// No replica will contain the outcomes: the hub has another log.
  mutating func releaseAll() {
    for index in entries.indices where entries[index].stage == .waiting { entries[index].stage = .contained }
  }

  /// All of them, to be recorded immediately: the hub does not know their numbers any more, and a later run would send
  /// those writes again.
  mutating func takeAll() -> [JournalEntry] {
    defer { entries.removeAll() }
    return entries.map { .decided($0.id, JournalEntry.Decided($0.outcome)) }
  }

  /// What was taken last is stored, or could not be.
  /// - Returns: the models of the outcomes that are stored.
  mutating func finish(isStored: Bool) -> Swift.Set<String> {
    var models: Swift.Set<String> = []
    entries.removeAll { entry in
      guard isStored, entry.stage == .recording else { return false }
      models.insert(entry.model)
      return true
    }
    for index in entries.indices {
      switch entries[index].stage {
      case .storing: entries[index].stage = isStored ? .contained : .waiting
      case .recording: entries[index].stage = .contained
      case .waiting, .contained: break
      }
    }
    return models
  }
}
