import ArgumentParser
import BindingPeer
import BindingTerminal

/// Resets fields to their declared defaults.
struct Reset: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Reset fields to their declared defaults.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL (all its declared fields) or MODEL.FIELD.")
  var address: String

  mutating func run() async throws {
    let named = try Address(self.address)
    guard !named.isPrefix, named.element == nil else { throw Failure(.usage, "reset needs one model or one field") }
    let peer = try await common.connect()
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    let (address, model) = try await reader.read([Address(self.address)])[0]
    let declared = model.modelDescription.fields.filter { address.field == nil || $0.key == address.field }
    let operations = declared.sorted { $0.key < $1.key }.compactMap { name, field in
      field.defaultValue.map { FieldOperation(.set, name, FieldValue(json: $0)) }
    }
    guard !operations.isEmpty else {
      let near = address.field.flatMap { nearest(to: $0, among: model.modelDescription.fields.keys) }
      let hint = near.map { " Did you mean \(model.id).\($0)?" } ?? ""
      throw Failure(.no, "No default is declared for \(address.description).\(hint)")
    }
    try await WriteReport(common: common, model: model).send(Proposal(operations: operations))
    await peer.close(flush: .zero)
  }
}

/// Deletes fields or a model.
struct Remove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Delete a field, or with --model a whole model.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL.FIELD, MODEL.LIST[id=ID], or with --model MODEL.")
  var address: String
  @Flag(help: "Delete all fields of the model.")
  var model = false

  mutating func run() async throws {
    let named = try Address(self.address)
    guard !named.isPrefix, (named.field != nil) != model else {
      throw Failure(.usage, "Name a field, as in rm lamp.level, or a model with --model, as in rm lamp --model")
    }
    guard named.element?.members.isEmpty ?? true else {
      throw Failure(.usage, "rm deletes whole elements, as in rm 'show.cues[id=7]'")
    }
    let peer = try await common.connect()
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    let (address, shared) = try await reader.read([Address(self.address)])[0]
    if address.element != nil {
      if address.value(in: shared) == nil { Terminal.complain("\(address.description) does not exist.") }
    } else if let field = address.field, shared[field] == nil,
      let near = nearest(to: field, among: shared.values.keys)
    {
      Terminal.complain("\(shared.id) has no field \(field). Did you mean \(shared.id).\(near)?")
    }
    let operation = address.wireField.map { FieldOperation(.delete, $0) } ?? FieldOperation(.clear, "")
    try await WriteReport(common: common, model: shared).send(Proposal(operations: [operation]))
    await peer.close(flush: .zero)
  }
}

/// Lists models, or the peers present in them.
struct List: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List the models under a prefix, or all models; with --peers the peers in them.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "PREFIX/, or with --peers MODEL.")
  var prefix = ""
  @Flag(help: "List the peers in the models, with the time since when and their announcement.")
  var peers = false

  mutating func run() async throws {
    if peers { return try await PeerList(common: common).show(Address(prefix)) }
    let address = try Address(prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/")
    let peer = try await common.connect()
    guard let models = await peer.list(address.model, timeout: common.timeout.duration) else {
      throw Failure(.timedOut, "The list of models did not arrive within \(common.timeout.milliseconds) ms.")
    }
    let present = models.filter { $0.fields > 0 }.sorted { $0.id < $1.id }
    if present.isEmpty, !address.model.isEmpty {
      throw Failure(.no, await ModelReader(peer: peer, timeout: common.timeout).nothing(below: address.model))
    }
    for model in present {
      if common.json {
        Terminal.print(
          .object([
            .init("model", .string(model.id)), .init("version", .integer(Int64(clamping: model.version))),
            .init("fields", .integer(Int64(model.fields))),
          ]))
      } else {
        Terminal.print("\(model.id)  version \(model.version)  \(model.fields) field\(model.fields == 1 ? "" : "s")")
      }
    }
    await peer.close(flush: .zero)
  }
}

/// Measures the round-trip time to the hub.
struct Ping: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measure the round-trip time to the hub.")

  @OptionGroup var common: CommonOptions
  @Option(help: "Number of round trips.")
  var count = 4

  mutating func run() async throws {
    let peer = try await common.connect()
    for number in 1...max(count, 1) {
      guard let time = await peer.ping(timeout: common.timeout.duration) else {
        throw Failure(.timedOut, "The hub did not answer within \(common.timeout.milliseconds) ms.")
      }
      let milliseconds = Double(time.components.attoseconds) / 1e15 + Double(time.components.seconds) * 1_000
      if common.json {
        Terminal.print(
          .object([
            .init("number", .integer(Int64(number))), .init("milliseconds", .number(milliseconds)),
            .init("hub", peer.status.hub.map { .string($0) } ?? .null),
          ]))
      } else {
        Terminal.print("\(peer.status.hub ?? "hub")  \(milliseconds.formatted(places: 3)) ms")
      }
    }
    await peer.close(flush: .zero)
  }
}
