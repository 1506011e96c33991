import ArgumentParser
import BindingPeer
import BindingTerminal
import Dispatch
import Foundation

/// Runs a command with the fields of a model in its environment, again after each change.
struct Exec: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a command with a model's fields in its environment, and again after each change.",
    discussion: """
      The command finds each field as FIELD_name; characters of the name that no variable may have are _. Text is \
      bare, everything else is JSON. BINDPEER_MODEL, BINDPEER_VERSION and BINDPEER_VALUES, all fields as one JSON \
      object, say the rest.

      One command runs at a time. What changes while it runs is not queued: it runs once more with the newest values. \
      It does not run again for values that it had already. A command that fails is reported, and runs again at the \
      next change.

      Exit codes: with --count that of the last run; 72 the command is not there.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL, or MODEL.FIELD to run again only if this field changes.")
  var address: String
  @Option(help: "End after this number of runs.")
  var count: Int?
  @Option(name: .customLong("for"), help: "End after this time, once the command that runs then has ended.")
  var span: TimeSpan?
  @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
  var command: [String] = []

  func validate() throws {
    if command.isEmpty { throw ValidationError("exec needs a command: bindpeer exec MODEL -- COMMAND") }
    if let count, count < 1 { throw ValidationError("--count must be at least 1") }
  }

  mutating func run() async throws {
    let address = try Address(address)
    guard !address.isPrefix, address.element == nil else { throw Failure(.usage, "exec needs one model or one field") }
    let end = span.map { ContinuousClock.now + $0.duration }
    let peer = try await common.connect(patiently: true)
    let (found, model) = try await ModelReader(peer: peer, timeout: common.timeout).read([address])[0]
    let (changes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let observing = model.observe { _, _ in wake.yield() }
    let link = LinkNotices()
    let watching = peer.observeStatus { status in
      link.tell(status)
      if status.isStopped { wake.finish() }
    }
    if let span {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(span.milliseconds))) { wake.finish() }
    }
    defer { withExtendedLifetime((observing, watching)) {} }
    wake.yield()
    var (runs, last, status) = (0, Values?.none, Int32(0))
    // What changes during a run is the next element.
    for await _ in changes {
      let values = Values(of: model, found.field)
      guard values.trigger != last?.trigger else { continue }
      last = values
      status = try await run(values, of: model)
      runs += 1
      if runs == count { break }
      if let end, end <= .now { break }
    }
    if case .stopped(let reason) = peer.status.phase { throw reason.failure }
    await peer.close(flush: .zero)
    if count != nil, status != 0 { StandardStreams.leave(status) }
  }

  /// Runs the command once.
  /// - Returns: its exit code.
  private func run(_ values: Values, of model: SharedModel) async throws(Failure) -> Int32 {
    let fields = FieldVariables(model: model.id, version: values.version, fields: values.fields)
    for complaint in fields.complaints { Terminal.complain("! \(complaint)") }
    var variables = ProcessInfo.processInfo.environment.filter { !FieldVariables.isOne($0.key) }
    if let hub = common.hub { variables["BINDPEER_HUB"] = hub }
    variables.merge(fields.variables) { $1 }
    let status = await (try ChildCommand(command, environment: variables)).end()
    if status != 0 { Terminal.complain("! \(excerpt(command[0])) ended with \(status)") }
    return status
  }

  /// What a run is told.
  private struct Values {
    let version: Version
    let fields: [String: FieldValue]
    /// The part that has to change for another run.
    let trigger: [String: FieldValue]

    init(of model: SharedModel, _ field: String?) {
      version = model.version.version
      let fields = model.fields
      self.fields = fields
      trigger = field.map { field in fields.filter { $0.key == field } } ?? fields
    }
  }
}
