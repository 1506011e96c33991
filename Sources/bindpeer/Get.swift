import ArgumentParser
import BindingPeer
import BindingTerminal

/// Prints values.
struct Get: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Print the values of models or fields.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL, MODEL.FIELD, MODEL.LIST[id=ID], MODEL.LIST[id=ID].MEMBER or PREFIX/. Default: all models.")
  var addresses: [String] = [""]
  @Flag(help: "Print only the value of one field, and text without quotes.")
  var raw = false
  @Flag(help: "Print the version, writer and time of each value.")
  var meta = false
  @Flag(help: "Read ephemeral fields, which exist as long as the peer that wrote them.")
  var ephemeral = false
  @Flag(help: "At an edge: print nothing older than its upstream hub has now. Exit code 75 if that does not answer.")
  var latest = false
  @Flag(help: "Print secret values on a terminal, too.")
  var reveal = false

  mutating func run() async throws {
    let asked = try addresses.map { text throws(Failure) in try Address(text) }
    if let keep = common.keep {
      guard !latest else { throw Failure(.usage, "What is kept is not the latest. Omit --latest, or --keep") }
      guard !ephemeral else { throw Failure(.usage, "Ephemeral fields are not kept. Omit --ephemeral, or --keep") }
      return try KeptReader(common: common, path: keep, isRaw: raw, showsMeta: meta, reveals: reveal).run(asked)
    }
    let peer = try await common.connect(readsLatest: latest)
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    var models = try await reader.read(asked)
    if peer.status.waitsForUpstream {
      Terminal.complain("waiting(upstream): this hub does not reach the hub or the log behind it; values may be old")
    }
    var missing = false
    for prefix in asked
    where prefix.isPrefix && !prefix.model.isEmpty && !models.contains(where: { $0.0.model == prefix.model }) {
      Terminal.complain(await reader.nothing(below: prefix.model))
      missing = true
    }
    if ephemeral { models = try await reader.ephemeral(of: models) }
    for (address, model) in models {
      guard let complaint = show(model, address) else { continue }
      // Prints existing values all the same.
      Terminal.complain(complaint)
      if address.field == nil, let near = await reader.nearestModel(to: model.modelID) {
        Terminal.complain("Did you mean \(near)?")
      }
      missing = true
    }
    await peer.close(flush: .zero)
    if missing { Terminal.leave(.no) }
  }

  /// Prints the existing values.
  /// - Returns: a complaint about missing ones; nil if there are none.
  private func show(_ model: SharedModel, _ address: Address) -> String? {
    let values = model.values
    if let element = address.element, let list = address.field { return show(element, of: list, model, address) }
    if let field = address.field {
      if !ephemeral, model.modelDescription.fields[field]?.isEphemeral == true {
        return "\(address.description) is ephemeral. Read it:  bindpeer get \(address.description) --ephemeral"
      }
      guard let value = values[field] else { return missing(field, model, values) }
      show(model, [(field, value)])
      return nil
    }
    let fields = model.fields.sorted { $0.key < $1.key }
    if fields.isEmpty, !address.isPrefix { return "\(address.model) has no fields." }
    show(model, fields.map { ($0.key, $0.value) })
    return nil
  }

  /// Prints an element of a list, or a member of it.
  private func show(
    _ element: ElementAddress, of name: String, _ model: SharedModel, _ address: Address
  ) -> String? {
    guard let list = UntypedList(name, in: model) else {
      return "\(model.modelID).\(name) is no list, so it has no element \(element.description)."
    }
    guard let whole = list[element.id] else {
      let near = nearest(to: element.id, among: list.ids).map { " Did you mean \(model.modelID).\(name)[id=\($0)]?" }
      return "\(model.modelID).\(name) has no element \(element.id).\(near ?? "")"
    }
    guard let value = element.value(in: whole) else { return "\(address.description) does not exist." }
    show(model, [("\(name)\(element.description)", value)], record: ListElements.field(of: element.id, in: name))
    return nil
  }

  /// - Parameter record: the field whose commit is told, if it is not the one that is printed.
  private func show(_ model: SharedModel, _ fields: [(field: String, value: FieldValue)], record: String? = nil) {
    if raw, fields.count == 1 {
      if case .string(let text)? = try? fields[0].value.json { return Terminal.print(text) }
      return StandardStreams.print(bytes: fields[0].value.bytes)
    }
    if common.json {
      var line = JSONLine()
      line.add("model", .string(model.modelID))
      line.add("version", .integer(Int64(clamping: model.version.version)))
      line.add("values", values: fields.map { ($0, $1) })
      if meta { line.add("meta", .object(fields.map { .init($0.field, metaJSON(model, record ?? $0.field)) })) }
      return line.print()
    }
    let list = record.flatMap(ListElements.parts).map { String($0.list) }
    // On a screen the values stand below each other; in a pipe nothing but the names and values is printed.
    let width = Terminal.isScreen ? fields.map(\.field.columns).max() ?? 0 : 0
    for (field, value) in fields {
      let tail = meta ? "  " + Terminal.dim(metaText(model, record ?? field)) : ""
      let words = model.readable(value, of: list ?? field, revealing: reveal)
      Terminal.print("\(model.modelID).\(field.padding(to: width)) = \(words)\(tail)")
    }
  }

  private func metaText(_ model: SharedModel, _ field: String) -> String {
    guard let record = model.record(field) else { return "" }
    let described = model.modelDescription
    var parts = ["version \(record.version) by \(record.origin.attribution) at \(Terminal.clock(record.time))"]
    if record.isExpired { parts.append("expired: the hub is silent") }
    parts += described.fields[field].map(Describe.shown) ?? []
    let aliases = described.aliases.filter { $0.value == field }.keys.sorted()
    if !aliases.isEmpty { parts.append("also called \(aliases.joined(separator: ", "))") }
    return PrintedText.escaped(parts.joined(separator: "  "))
  }

  private func metaJSON(_ model: SharedModel, _ field: String) -> JSON {
    guard let record = model.record(field) else { return .null }
    let described = model.modelDescription
    var more = record.origin.user.map { [JSON.Member("user", .string($0))] } ?? []
    if let field = described.fields[field] { more.append(.init("description", field.json)) }
    let aliases = described.aliases.filter { $0.value == field }.keys.sorted()
    if !aliases.isEmpty { more.append(.init("aliases", .array(aliases.map(JSON.string)))) }
    return .object(
      [
        .init("version", .integer(Int64(clamping: record.version))),
        .init("origin", .string(record.origin.fullName)),
        .init("time", .integer(Int64(clamping: record.time))), .init("pending", .bool(record.isPending)),
      ] + more + (record.isExpired ? [.init("expired", .bool(true))] : []))
  }

  private func missing(_ field: String, _ model: SharedModel, _ values: [String: FieldValue]) -> String {
    let hint = nearest(to: field, among: values.keys).map { " Did you mean \(model.modelID).\($0)?" } ?? ""
    return "\(model.modelID) has no field \(field).\(hint)"
  }
}

/// Joins the models of addresses and waits until they are current.
struct ModelReader {
  let peer: Peer
  let timeout: TimeSpan

  /// The current models of each address; those under a prefix sorted by id.
  func read(_ addresses: [Address]) async throws -> [(Address, SharedModel)] {
    var found: [(Address, SharedModel)] = []
    for address in addresses {
      if address.isPrefix {
        for id in try await models(below: address.model) { found.append((address, try peer.model(id))) }
      } else {
        found.append((address, try peer.model(address.model)))
      }
    }
    for (_, model) in found {
      guard await model.whenCurrent(timeout: timeout.duration) else { throw late(model, model.id) }
    }
    return found.map { ($0.stored(in: $1), $1) }
  }

  /// The ids of the models under a prefix that have fields, sorted.
  func models(below prefix: String) async throws -> [String] {
    guard let models = await peer.list(prefix, timeout: timeout.duration) else {
      throw Failure.late("the list of models", timeout: timeout)
    }
    return models.filter { $0.fields > 0 }.map(\.id).sorted()
  }

  /// The current ephemeral models of the given models.
  func ephemeral(of models: [(Address, SharedModel)]) async throws -> [(Address, SharedModel)] {
    let ephemeralModels = models.map { ($0.0, $0.1.ephemeral) }
    for (_, ephemeral) in ephemeralModels {
      guard await ephemeral.whenCurrent(timeout: timeout.duration) else {
        throw late(ephemeral, "the ephemeral fields of \(ephemeral.modelID)")
      }
    }
    return ephemeralModels
  }

  /// The existing model with the nearest name, for a name that does not exist.
  func nearestModel(to id: String) async -> String? {
    guard let models = await peer.list("", timeout: timeout.duration) else { return nil }
    return nearest(to: id, among: models.lazy.filter { $0.fields > 0 }.map(\.id))
  }

  /// Tells a waiting user that nothing exists yet at an address, or why the hub refuses the join; nil: something
  /// exists, or the answer is unknown.
  func emptiness(of address: Address) async -> String? {
    if address.isPrefix {
      guard let models = await peer.list(address.model, timeout: timeout.duration) else { return nil }
      return models.contains { $0.fields > 0 } || address.model.isEmpty ? nil : await nothing(below: address.model)
    }
    if let refusal = await refusal(of: address.model) { return refusal }
    guard let model = try? peer.model(address.model), model.isCurrent else { return nil }
    let fields = model.fields.keys
    if fields.isEmpty { return "\(address.model) has no fields yet." }
    guard let field = address.field, !fields.contains(field) else { return nil }
    let hint = nearest(to: field, among: fields).map { " Did you mean \(address.model).\($0)?" } ?? ""
    return "\(address.model) has no field \(field).\(hint)"
  }

  /// Why the hub refuses to let this peer join a model; nil if it does not, or has not answered in time.
  func refusal(of id: String) async -> String? {
    guard let model = try? peer.model(id), await !model.whenCurrent(timeout: timeout.duration) else { return nil }
    return model.status.refusal.map { "\($0)." }
  }

  /// The message if no model exists under a prefix.
  func nothing(below prefix: String) async -> String {
    let words = "There is no model under \(prefix)."
    let models = (await peer.list("", timeout: timeout.duration) ?? []).filter { $0.fields > 0 }.map(\.id)
    let bare = String(prefix.dropLast())
    if models.contains(bare) { return "\(words) The model \(bare) exists:  bindpeer get \(bare)" }
    let prefixes = Swift.Set(
      models.flatMap { id in id.indices.filter { id[$0] == "/" }.map { String(id[...$0]) } })
    return words + (nearest(to: prefix, among: prefixes).map { " Did you mean \($0)?" } ?? "")
  }

  /// Why a model is not current: the hub refuses the join, or has not answered.
  private func late(_ model: SharedModel, _ what: String) -> Failure {
    if let refusal = model.status.refusal { return Failure(refusal) }
    // The hub has let this peer in, and does not any more.
    if let refusal = peer.status.refusal {
      return Failure(.noHub, "The hub does not accept this peer now: \(refusal).")
    }
    return peer.status.waitsForUpstream ? .cutOff(from: what) : .late(what, timeout: timeout)
  }
}

extension Failure {
  /// The hub refuses to let this peer join a model.
  init(_ refusal: JoinRefusal) {
    self.init(refusal.code == .notPermitted ? .notPermitted : .conflict, "refused: \(refusal)")
  }

  /// The hub that was asked is an edge without its upstream hub.
  static func cutOff(from what: String) -> Failure {
    Failure(.timedOut, "waiting(upstream): this hub does not reach the hub or the log behind it, which has \(what).")
  }

  static func late(_ what: String, timeout: TimeSpan) -> Failure {
    Failure(.timedOut, "\(what) did not arrive within \(timeout.milliseconds) ms. Try a longer --timeout.")
  }
}
