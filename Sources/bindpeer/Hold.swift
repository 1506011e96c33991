import ArgumentParser
import BindingPeer
import BindingTerminal
import Dispatch

/// Holds a field that expires at a value.
struct Hold: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set a field that expires, and renew it until Ctrl-C.",
    discussion: """
      The model's description gives the field a time limit. When hold ends, however it ends, the hub sets the field \
      back to its default at most that much later.

      hold never overwrites: if somebody else sets the field, or if it has expired meanwhile, it ends with exit code 3.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL.FIELD=VALUE, FIELD:=JSON, FIELD=@FILE or FIELD=-")
  var assignment: String
  @Option(name: .customLong("for"), help: "End after this time, such as 10s.")
  var span: TimeSpan?

  mutating func run() async throws {
    let end = span.map { DispatchTime.now() + .milliseconds(Int($0.milliseconds)) }
    let assignment = try Assignment(assignment)
    let peer = try await common.connect()
    let address = try Address(assignment.model)
    let model = try await ModelReader(peer: peer, timeout: common.timeout).read([address])[0].1
    let field = assignment.field
    let declared = model.modelDescription.fields[field]
    guard let limit = declared?.expires else {
      throw Failure(
        .no, "\(model.id).\(field) does not expire by its description. Set it:  bindpeer set \(model.id).\(field)=…")
    }
    let operation = try assignment.operation(declared: declared, shown: model[field], as: .usual)
    guard operation.verb == .set, let value = operation.value else {
      throw Failure(.usage, "hold sets a value: write MODEL.FIELD=VALUE")
    }
    try await WriteReport(common: common, model: model).send(Proposal(operations: [operation]))
    Terminal.complain("holding until Ctrl-C; without renewals it expires after \(limit)")
    var isSilent = false
    while end.map({ $0 > .now() }) ?? true {
      try await Task.sleep(for: limit / 4)
      if case .stopped(let reason) = peer.status.phase { throw reason.failure }
      // A renewal beside one that waits for its outcome would overwrite what others set meanwhile.
      guard let known = model.record(field), !known.isPending else { continue }
      guard known.committed == value else { throw Hold.overtaken(model, field, by: known.origin) }
      let write: PendingWrite
      do { write = try model.renew(field, otherwise: value) } catch { throw Failure(.doesNotFit, "\(error)") }
      let outcome = await write.outcome(timeout: limit)
      switch outcome {
      case .unchanged, .committed:
        if isSilent { Terminal.complain("! the hub is back") }
        isSilent = false
      case .conflict(let conflict): throw Hold.overtaken(model, field, by: conflict.origin)
      case .refused(let refusal):
        throw Failure(refusal.code == .notPermitted ? .notPermitted : .conflict, refusal.report(on: model.id))
      default:
        if !isSilent { Terminal.complain("! the hub does not answer; waiting") }
        isSilent = true
      }
    }
    await peer.close(flush: .zero)
  }

  private static func overtaken(_ model: SharedModel, _ field: String, by origin: Origin) -> Failure {
    let address = "\(model.id).\(field)"
    guard origin.tag != .none || origin.name != Names.expiry else {
      return Failure(.conflict, "\(address) has expired: the hub was not heard in time. Nothing more is set.")
    }
    return Failure(.conflict, "\(address) was set by \(origin.attribution). It is held no longer.")
  }
}
