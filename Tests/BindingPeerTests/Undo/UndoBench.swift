import BindingProtocol
import Testing

@testable import BindingPeer

extension PeerBench {
  /// A live session that records `lamp` for undo: `level` 0.3 at version 4 with id 0, `on` true at 5 with id 1, `note`
  /// "one two three" at 3 with id 2, `uses` 7 at 2 with id 3.
  static func recording(keepsOutbox: Bool = false) -> PeerBench {
    var bench = PeerBench(keepsOutbox: keepsOutbox)
    bench.live(version: 5, lampEntries)
    bench.session.recordUndo(of: "lamp", now: bench.now)
    return bench
  }

  static let lampEntries = [
    Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5),
    Entry(name: "note", value: "\"one two three\"", version: 3), Entry(name: "uses", value: "7", version: 2),
  ]

  /// The names that later commits go on from.
  static let known = NamesRun(first: 4)

  @discardableResult
  mutating func make(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], as role: UndoRole = .step(edit: 0)
  ) throws(WriteError) -> Drain {
    try act { session, now, output throws(WriteError) in
      _ = try session.write(proposal, rules: rules, as: role, to: "lamp", now: now, into: &output)
    }
  }

  /// Writes values, and commits each at once, as versions after `version`.
  mutating func commit(_ values: [(field: FieldID, name: String, value: String)], after version: Version) throws {
    for (offset, (field, name, value)) in values.enumerated() {
      now += 2_000
      let drain = try make(.set([name: value]))
      let number = try #require(drain.numbers.first)
      hub(commits(after: version + Version(offset), [[field: value]], own: [0: number], names: Self.known))
    }
  }

  /// Asks for an undo or redo.
  mutating func restore(redoes: Bool = false) throws -> (start: UndoStart, drain: Drain) {
    var start = UndoStart.nothing
    let drain = try act { session, now, output throws(WriteError) in
      start = try session.restore("lamp", redoes: redoes, now: now, into: &output)
    }
    return (start, drain)
  }

  /// Asks for an undo or redo whose proposal the hub commits as the version after `version`; returns the proposal's
  /// operation and condition.
  mutating func restored(_ field: FieldID, after version: Version, redoes: Bool = false) throws -> String {
    let (_, drain) = try restore(redoes: redoes)
    let proposal = try #require(drain.proposals.first)
    let operation = try #require(proposal.operations.first)
    hub(
      commits(
        after: version, [[field: operation.value?.description]], own: [0: proposal.number], names: Self.known))
    return "\(operation.value?.description ?? "deleted") if \(proposal.conditions.map(\.version))"
  }

  var undoes: [String]? { session.undoState(of: "lamp").undoes }
  var redoes: [String]? { session.undoState(of: "lamp").redoes }
}
