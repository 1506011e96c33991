import ArgumentParser
import BindingPeer
import BindingTerminal

/// Writes fields. Several fields of one model become one commit.
struct Set: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write fields. All assignments to one model form one commit.",
    discussion: """
      First, set checks all values against the models' descriptions. Then it writes the models one after the other, \
      in the order of their first assignments. If the hub refuses one, the error names the models that are written.

      A field that the model's description does not contain accepts any value. If its name resembles that of a \
      described field, set prints a hint.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(
    help: """
      MODEL.FIELD=VALUE, FIELD:=JSON, FIELD=@FILE, FIELD=-, FIELD+=NUMBER or FIELD!; \
      of a list MODEL.LIST[id=ID].MEMBER=VALUE, LIST+=JSON to append, LIST:=[…]
      """)
  var assignments: [String]
  @Option(name: .customLong("if-version"), help: "Write only if the fields are unchanged since this version.")
  var ifVersion: UInt64?
  @Option(
    name: .customLong("was"), help: "The text before your edit; edits by others since then are merged. For one text.")
  var was: String?
  @Flag(name: .customLong("default"), help: "Write only fields that never had a value.")
  var asDefault = false
  @Flag(name: .customLong("no-wait"), help: "Exit once the write is sent, without waiting for its outcome.")
  var noWait = false
  @Flag(name: .customLong("text"), help: "Write each VALUE as text.")
  var asText = false
  @Flag(
    name: .customLong("bytes"), help: "Send the content of FIELD=@FILE and FIELD=- as bytes: {\"$bytes\":\"<base64>\"}."
  )
  var asBytes = false

  mutating func validate() throws {
    if asText, asBytes { throw ValidationError("--text and --bytes cannot be combined. Omit one") }
  }

  mutating func run() async throws {
    let all = try assignments.map { text throws(Failure) in try Assignment(text) }
    var order: [String] = []
    for assignment in all where !order.contains(assignment.model) { order.append(assignment.model) }
    let peer = try common.makePeer()
    guard await common.reachesHub(peer) else {
      guard let path = common.outboxPath, !peer.status.isStopped else { throw common.noHub(peer) }
      throw try await keep(all, order, in: path, of: peer)
    }
    let models = try await ModelReader(peer: peer, timeout: common.timeout).read(
      order.map { id throws(Failure) in try Address(id) }
    ).map(\.1)
    if was != nil, all.count != 1 { throw Failure(.usage, "--was needs exactly one assignment, of a text") }
    // Checks all models before the first write.
    var writes: [(model: SharedModel, proposal: Proposal)] = []
    for model in models { writes.append((model, try proposal(all.filter { $0.model == model.id }, to: model))) }
    if was != nil, writes.first?.proposal.onlyText == nil {
      throw Failure(.usage, "--was needs exactly one assignment, of a text")
    }
    var done: [String] = []
    for (index, (model, proposal)) in writes.enumerated() {
      do {
        try await WriteReport(common: common, model: model).send(proposal, editedFrom: was, noWait: noWait)
        done.append(model.id)
      } catch let failure as Failure where writes.count > 1 {
        let left = writes[(index + 1)...].map(\.model.id)
        throw Failure(failure.code, failure.text + Set.halfDone(done: done, left: left, noWait: noWait))
      }
    }
    await peer.close(flush: .zero)
  }

  /// Reports which other models were written when a write has failed.
  static func halfDone(done: [String], left: [String], noWait: Bool) -> String {
    var words = ""
    if !done.isEmpty { words += "\n\(noWait ? "Already sent" : "Already written"): \(done.joined(separator: ", "))." }
    if !left.isEmpty { words += "\nNot written: \(left.joined(separator: ", "))." }
    return words
  }

  private var reading: Assignment.Reading { asText ? .text : asBytes ? .bytes : .usual }

  /// Stores the writes in the outbox for the next run, because no hub answers.
  private func keep(_ all: [Assignment], _ order: [String], in path: String, of peer: Peer) async throws -> Failure {
    if let blind = all.first(where: { !$0.isBlind }) {
      throw Failure(.noHub, "\(blind.title) needs the current value, and no hub answers.")
    }
    if ifVersion != nil { throw Failure(.noHub, "--if-version needs the current version, and no hub answers.") }
    for id in order {
      let model = try peer.model(id)
      var proposal = Proposal(operations: [])
      for assignment in all where assignment.model == id {
        var operation = try assignment.operation(declared: nil, shown: nil, as: reading)
        if asDefault, operation.verb == .set { operation.verb = .setIfAbsent }
        proposal.operations.append(operation)
      }
      do { try model.write(proposal) } catch { throw Failure(.doesNotFit, "\(error)") }
      if common.json { Terminal.print(.object([.init("model", .string(id)), .init("outcome", .string("pending"))])) }
    }
    let left = await peer.close(flush: .zero)
    return Failure(
      .timedOut,
      """
      No hub answers. Stored in \(path): \(left.joined(separator: ", ")).
      The next bindpeer with \(common.keep == nil ? "--outbox" : "--keep") \(path) sends these writes.
      """)
  }

  private func proposal(_ assignments: [Assignment], to model: SharedModel) throws(Failure) -> Proposal {
    let declared = model.modelDescription.fields
    var proposal = Proposal(operations: [])
    var lists = ListAssignments(of: model, ifVersion: ifVersion)
    for var assignment in assignments {
      assignment.resolve(in: model)
      if try lists.add(assignment, as: reading) {
        if asDefault { throw Failure(.usage, "--default writes no list, and \(assignment.title) is one") }
        continue
      }
      var operation = try assignment.operation(
        declared: declared[assignment.field], shown: model[assignment.field], as: reading)
      if asDefault, operation.verb == .set { operation.verb = .setIfAbsent }
      proposal.operations.append(operation)
      if let ifVersion {
        proposal.conditions.append(Condition(field: assignment.field, epoch: model.version.epoch, version: ifVersion))
      }
      let address = try Address("\(model.id).\(assignment.field)")
      if let hint = FieldHint(of: address, in: model, values: model.values) {
        Terminal.complain("\(hint.words) Writing it anyway. To undo:  bindpeer rm \(address.description)")
      }
    }
    proposal.operations += lists.finished()
    proposal.conditions += lists.conditions
    return proposal
  }
}
