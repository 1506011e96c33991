import ArgumentParser
import BindingPeer
import Dispatch

/// Writes fields: several of one model as one commit.
struct Set: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Write fields. Assignments to one model are one commit.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL.FIELD=VALUE, FIELD:=JSON, FIELD=@FILE, FIELD=-, FIELD+=NUMBER or FIELD!")
  var assignments: [String]
  @Option(name: .customLong("if-version"), help: "Write only if the fields are unchanged since this version.")
  var ifVersion: UInt64?
  @Flag(name: .customLong("default"), help: "Write only fields that never had a value.")
  var asDefault = false
  @Flag(name: .customLong("no-wait"), help: "Return when the write has left, without its outcome.")
  var noWait = false

  mutating func run() async throws {
    let all = try assignments.map { text throws(Failure) in try Assignment(text) }
    var order: [String] = []
    for assignment in all where !order.contains(assignment.model) { order.append(assignment.model) }
    let peer = try common.makePeer()
    guard await common.reachesHub(peer) else {
      guard let path = common.outboxPath, !peer.status.isStopped else { throw common.noHub(peer) }
      throw try await keep(all, order, in: path, of: peer)
    }
    for id in order { try await write(all.filter { $0.model == id }, to: id, of: peer) }
    await peer.close(flush: .zero)
  }

  /// Without a hub: leaves the writes in the outbox for the next run.
  private func keep(_ all: [Assignment], _ order: [String], in path: String, of peer: Peer) async throws -> Failure {
    if let blind = all.first(where: { !$0.isBlind }) {
      throw Failure(.noHub, "\(blind.model).\(blind.field)! needs to know what the hub has, and no hub answers.")
    }
    if ifVersion != nil { throw Failure(.noHub, "--if-version needs to know what the hub has, and no hub answers.") }
    for id in order {
      let model = try peer.model(id)
      var proposal = Proposal(operations: [])
      for assignment in all where assignment.model == id {
        var operation = try assignment.operation(declared: nil, shown: nil)
        if asDefault, operation.verb == .set { operation.verb = .whenUnset }
        proposal.operations.append(operation)
      }
      do { try model.write(proposal) } catch { throw Failure(.doesNotFit, "\(error)") }
      if common.json { Terminal.say(.object([.init("model", .string(id)), .init("outcome", .string("pending"))])) }
    }
    let left = await peer.close(flush: .zero)
    return Failure(
      .timedOut,
      """
      No hub answers. Kept in \(path): \(left.joined(separator: ", ")).
      The next bindpeer with --outbox \(path) sends it.
      """)
  }

  private func write(_ assignments: [Assignment], to id: String, of peer: Peer) async throws {
    let model = try await ModelReader(peer: peer, timeout: common.timeout).read([Address(id)])[0].1
    let declared = model.modelDescription.fields
    var proposal = Proposal(operations: [])
    for assignment in assignments {
      var operation = try assignment.operation(declared: declared[assignment.field], shown: model[assignment.field])
      if asDefault, operation.verb == .set { operation.verb = .whenUnset }
      proposal.operations.append(operation)
      if let ifVersion {
        proposal.conditions.append(Condition(field: assignment.field, epoch: model.version.epoch, version: ifVersion))
      }
    }
    try await WriteReport(common: common, model: model).send(proposal, noWait: noWait)
  }
}

/// Sends a write and tells what became of it, in words or JSON, with the exit code that goes with it.
struct WriteReport {
  let common: CommonOptions
  let model: SharedModel

  func send(_ proposal: Proposal, noWait: Bool = false) async throws {
    let before = model.values
    let version = model.version.version
    let begin = DispatchTime.now().uptimeNanoseconds
    let write: PendingWrite
    do {
      write = try model.write(proposal)
    } catch {
      throw Failure(.doesNotFit, "\(error)")
    }
    if noWait {
      let id = model.id
      let fields = proposal.operations.map(\.field)
      guard await model.whenSent(fields, within: common.timeout.duration) else {
        throw Failure(.timedOut, "The write to \(id) has not left within \(common.timeout.milliseconds) ms.")
      }
      return
    }
    guard let outcome = await write.outcome(within: common.timeout.duration) else {
      throw Failure(
        .timedOut,
        "No answer within \(common.timeout.milliseconds) ms\(model.status.delay). The write may still be committed. "
          + (common.outboxPath.map { "It stays in \($0); the next bindpeer with it sends it again. " } ?? "")
          + "Look:  bindpeer get \(model.id)"
      )
    }
    let milliseconds = Double(DispatchTime.now().uptimeNanoseconds - begin) / 1_000_000
    try tell(outcome, proposal, current: write.current, before: before, version: version, milliseconds)
  }

  private func tell(
    _ outcome: Outcome, _ proposal: Proposal, current: [String: FieldValue], before: [String: FieldValue],
    version: Version, _ milliseconds: Double
  ) throws {
    if common.json { Terminal.say(outcome.json(model: model.id, current: current, milliseconds: milliseconds)) }
    switch outcome {
    case .committed(_, let new):
      guard !common.json else { return }
      Terminal.say("\(model.id)  \(version) → \(new)   \(milliseconds.formatted(places: 1)) ms")
      let after = model.values
      for operation in proposal.operations where operation.verb != .clear {
        let (old, now) = (before[operation.field], operation.verb == .add ? after[operation.field] : operation.value)
        Terminal.say("  \(operation.field)  \(Terminal.readable(old)) → \(Terminal.readable(now))")
      }
    case .kept:
      if !common.json { Terminal.say("\(model.id)  nothing to do") }
    case .conflict(let conflict):
      let value = conflict.value.map { "set to \(Terminal.readable($0))" } ?? "deleted"
      let since = proposal.conditions.first { $0.field == conflict.field }.map { ", after \($0.version)" } ?? ""
      throw Failure(
        .conflict,
        """
        refused: \(model.id).\(conflict.field) changed at \(conflict.version)\(since): \(value) by \
        \(conflict.origin.fullName), \(age(conflict.ageMilliseconds)) ago.
        Look again with: bindpeer get \(model.id) --meta        Or overwrite: drop --if-version
        """)
    case .refused(let refusal): throw Failure(.conflict, refusal.report(on: model.id))
    case .superseded, .expired, .unknown: throw Failure(.conflict, outcome.explanation(of: model.id))
    }
  }

  private func age(_ milliseconds: UInt64) -> String {
    milliseconds < 1_000
      ? "\(milliseconds) ms" : milliseconds < 120_000 ? "\(milliseconds / 1_000) s" : "\(milliseconds / 60_000) min"
  }
}

extension ModelStatus {
  /// Why a write has no outcome yet, as the rest of a sentence; empty if it was sent and nothing speaks against it.
  var delay: String {
    if let waiting { return ": the hub puts it off (\(waiting))" }
    if let staleSince {
      let seconds = staleSince.duration(to: .now).components.seconds
      return ": the hub was last heard \(seconds == 0 ? "less than a second" : "\(seconds) s") ago"
    }
    return ""
  }
}

extension Outcome {
  /// The outcome for scripts; the names are pinned by a test.
  func json(model: String, current: [String: FieldValue], milliseconds: Double) -> JSON {
    var members: [JSON.Member] = [.init("model", .string(model))]
    switch self {
    case .committed(_, let version):
      members += [.init("outcome", .string("committed")), .init("version", .integer(Int64(clamping: version)))]
    case .kept: members.append(.init("outcome", .string("kept")))
    case .refused(let refusal):
      members += [
        .init("outcome", .string("refused")), .init("code", .string("\(refusal.code)")),
        .init("text", .string(refusal.text)),
        .init(
          "current", .object(current.sorted { $0.key < $1.key }.map { .init($0.key, (try? $0.value.json) ?? .null) })),
      ]
    case .conflict(let conflict):
      members += [
        .init("outcome", .string("conflict")), .init("field", .string(conflict.field)),
        .init("version", .integer(Int64(clamping: conflict.version))),
        .init("value", (try? conflict.value?.json) ?? .null),
        .init("origin", .string(conflict.origin.fullName)),
      ]
    case .superseded: members.append(.init("outcome", .string("superseded")))
    case .expired: members.append(.init("outcome", .string("expired")))
    case .unknown(let why): members += [.init("outcome", .string("unknown")), .init("text", .string(why))]
    }
    members.append(.init("milliseconds", .number((milliseconds * 1_000).rounded() / 1_000)))
    return .object(members)
  }
}

extension Refusal {
  /// What was refused and why; with what a field takes, where to look it up.
  func report(on model: String) -> String {
    // Words about a value name its model and field themselves.
    let words = text.hasPrefix("\(model).") ? "refused: \(text)" : "refused: \(model): \(text)"
    return code == .doesNotFit ? "\(words)\nWhat it takes: bindpeer describe \(model)" : words
  }
}

extension Double {
  func formatted(places: Int) -> String {
    var factor = 1.0
    for _ in 0..<places { factor *= 10 }
    return "\((self * factor).rounded() / factor)"
  }
}
