import ArgumentParser
import BindingPeer
import Dispatch
import Foundation

/// Writes declared defaults back.
struct Reset: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Write fields back to their declared defaults.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL (all its declared fields) or MODEL.FIELD.")
  var address: String

  mutating func run() async throws {
    let address = try Address(address)
    guard !address.isPrefix else { throw Failure(.usage, "reset takes one model, or one field") }
    let peer = try await common.connect()
    let model = try await ModelReader(peer: peer, timeout: common.timeout).read([address])[0].1
    let declared = model.modelDescription.fields.filter { address.field == nil || $0.key == address.field }
    let operations = declared.sorted { $0.key < $1.key }.compactMap { name, field in
      field.defaultValue.map { FieldOperation(.set, name, FieldValue(json: $0)) }
    }
    guard !operations.isEmpty else { throw Failure(.no, "No default is declared for \(address.description).") }
    try await WriteReport(common: common, model: model).send(Proposal(operations: operations))
    await peer.close(flush: .zero)
  }
}

/// Deletes fields or a model.
struct Remove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Delete a field, or with --model a whole model.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL.FIELD, or with --model MODEL.")
  var address: String
  @Flag(help: "Delete all fields of the model.")
  var model = false

  mutating func run() async throws {
    let address = try Address(address)
    guard !address.isPrefix, (address.field != nil) != model else {
      throw Failure(.usage, "Name a field, as in rm lamp.level, or a model with --model, as in rm lamp --model")
    }
    let peer = try await common.connect()
    let shared = try await ModelReader(peer: peer, timeout: common.timeout).read([address])[0].1
    let operation = address.field.map { FieldOperation(.delete, $0) } ?? FieldOperation(.clear, "")
    try await WriteReport(common: common, model: shared).send(Proposal(operations: [operation]))
    await peer.close(flush: .zero)
  }
}

/// Lists models, or who is in them.
struct List: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List the models below a prefix, or all; with --peers who is in them.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "PREFIX/, or with --peers MODEL.")
  var prefix = ""
  @Flag(help: "List who is in the models, since when, and what they say.")
  var peers = false

  mutating func run() async throws {
    if peers { return try await PeerList(common: common).show(Address(prefix)) }
    let address = try Address(prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/")
    let peer = try await common.connect()
    guard let models = await peer.list(address.model, within: common.timeout.duration) else {
      throw Failure(.timedOut, "The list did not come within \(common.timeout.milliseconds) ms.")
    }
    for model in models.sorted(by: { $0.id < $1.id }) where model.fields > 0 {
      if common.json {
        Terminal.say(
          .object([
            .init("model", .string(model.id)), .init("version", .integer(Int64(clamping: model.version))),
            .init("fields", .integer(Int64(model.fields))),
          ]))
      } else {
        Terminal.say("\(model.id)  version \(model.version)  \(model.fields) field\(model.fields == 1 ? "" : "s")")
      }
    }
    await peer.close(flush: .zero)
  }
}

/// Shows what is declared of a model.
struct Describe: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show what is declared of a model's fields.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL")
  var model: String

  mutating func run() async throws {
    let address = try Address(model)
    guard !address.isPrefix, address.field == nil else { throw Failure(.usage, "describe takes a model") }
    let peer = try await common.connect()
    let shared = try await ModelReader(peer: peer, timeout: common.timeout).read([address])[0].1
    let description = shared.modelDescription
    if common.json {
      Terminal.say(description.json)
    } else if description.fields.isEmpty {
      throw Failure(.no, "Nothing is declared of \(address.model).")
    } else {
      for (name, field) in description.fields.sorted(by: { $0.key < $1.key }) { Terminal.say(line(name, field)) }
    }
    await peer.close(flush: .zero)
  }

  private func line(_ name: String, _ field: FieldDescription) -> String {
    var parts = ["\(name)", field.type.rawValue]
    if field.minimum != nil || field.maximum != nil {
      parts.append("\(field.minimum?.text ?? "…")...\(field.maximum?.text ?? "…")")
    }
    if !field.choices.isEmpty { parts.append("one of " + field.choices.map(\.text).joined(separator: ", ")) }
    if let length = field.maximumLength { parts.append("at most \(length) characters") }
    if let unit = field.unit { parts.append("in \(unit)") }
    if let value = field.defaultValue { parts.append("default \(value.text)") }
    return parts.joined(separator: "  ")
  }
}

/// Measures the way to the hub and back.
struct Ping: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measure the way to the hub and back.")

  @OptionGroup var common: CommonOptions
  @Option(help: "How many times.")
  var count = 4

  mutating func run() async throws {
    let peer = try await common.connect()
    for number in 1...max(count, 1) {
      guard let time = await peer.ping(within: common.timeout.duration) else {
        throw Failure(.timedOut, "The hub did not answer within \(common.timeout.milliseconds) ms.")
      }
      let milliseconds = Double(time.components.attoseconds) / 1e15 + Double(time.components.seconds) * 1_000
      if common.json {
        Terminal.say(.object([.init("number", .integer(Int64(number))), .init("milliseconds", .number(milliseconds))]))
      } else {
        Terminal.say("\(peer.status.hub ?? "hub")  \(milliseconds.formatted(places: 3)) ms")
      }
    }
    await peer.close(flush: .zero)
  }
}

/// Waits for a condition.
struct Wait: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Wait until all conditions hold: MODEL.FIELD=VALUE, MODEL.FIELD!=VALUE, or MODEL.FIELD (has a value).")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL.FIELD=VALUE …")
  var conditions: [String]
  @Flag(help: "Wait for ephemeral fields: what goes with the peer that wrote it.")
  var ephemeral = false

  mutating func run() async throws {
    let wanted = try conditions.map { text throws(Failure) in try WaitCondition(text) }
    let peer = try await common.connect()
    var models: [SharedModel] = []
    for condition in wanted {
      let model = try peer.model(condition.address.model)
      models.append(ephemeral ? model.ephemeral : model)
    }
    let pairs = Array(zip(wanted, models))
    let (news, bell) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let tokens = models.map { $0.observe { _, _ in bell.yield(true) } }
    bell.yield(true)
    let milliseconds = Int(common.timeout.milliseconds)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { bell.finish() }
    var holds = false
    for await _ in news {
      holds = pairs.allSatisfy { $0.holds(in: $1) }
      if holds { break }
    }
    withExtendedLifetime(tokens) {}
    guard holds else {
      throw Failure(.timedOut, "Not so within \(milliseconds) ms: \(conditions.joined(separator: " "))")
    }
    await peer.close(flush: .zero)
  }
}

/// One condition of `wait`.
struct WaitCondition {
  enum Test {
    case present
    case equal(JSON)
    case different(JSON)
  }
  let address: Address
  let test: Test

  init(_ text: String) throws(Failure) {
    func value(_ text: Substring) -> JSON { (try? JSON(parsing: String(text))) ?? .string(String(text)) }
    let place: Substring
    if let found = text.range(of: "!=") {
      (place, test) = (text[..<found.lowerBound], .different(value(text[found.upperBound...])))
    } else if let found = text.firstIndex(of: "=") {
      (place, test) = (text[..<found], .equal(value(text[text.index(after: found)...])))
    } else {
      (place, test) = (text[...], .present)
    }
    address = try Address(String(place))
    guard address.field != nil else { throw Failure(.usage, "'\(text)' names no field") }
  }

  func holds(in model: SharedModel) -> Bool {
    guard model.isCurrent, let field = address.field else { return false }
    let json: JSON? = model[field].flatMap { try? $0.json }
    switch test {
    case .present: return json != nil
    case .equal(let wanted):
      return json.map { $0 == wanted || ($0.double != nil && $0.double == wanted.double) } ?? false
    case .different(let wanted): return json.map { $0 != wanted } ?? false
    }
  }
}

extension JSON {
  var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }
}

/// Standard input to fields, changes to standard output, as JSON lines.
struct Pipe: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write each line of standard input, a JSON object of fields, as one commit; print each change as one.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL")
  var model: String
  @Flag(help: "Write ephemeral fields: they are there as long as this runs. @me is what others hear of this peer.")
  var ephemeral = false

  mutating func run() async throws {
    let address = try Address(model)
    guard !address.isPrefix, address.field == nil else { throw Failure(.usage, "pipe takes a model") }
    let peer = try await common.connect()
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    var models = try await reader.read([address])
    if ephemeral { models = try await reader.ephemeral(of: models) }
    let shared = models[0].1
    let printer = WatchPrinter(json: true, count: nil) {}
    printer.follow(shared, field: nil, fromNow: true)
    var number = 0
    var sent: [(line: Int, write: PendingWrite)] = []
    var refused = 0
    func report() {
      let known = sent.prefix { $0.write.outcomeSoFar != nil }
      sent.removeFirst(known.count)
      for (line, write) in known {
        guard case .refused(let refusal) = write.outcomeSoFar else { continue }
        Terminal.complain("line \(line): \(refusal.report(on: shared.id))")
        refused += 1
      }
    }
    while let line = readLine() {
      number += 1
      guard case .object(let members)? = try? JSON(parsing: line) else {
        throw Failure(.doesNotFit, "line \(number) is no JSON object of fields: \(line.prefix(80))")
      }
      let operations = members.map { member in
        member.value == .null
          ? FieldOperation(.delete, member.name) : FieldOperation(.set, member.name, FieldValue(json: member.value))
      }
      do {
        sent.append((number, try shared.write(Proposal(operations: operations))))
      } catch {
        throw Failure(.doesNotFit, "line \(number): \(error)")
      }
      report()
    }
    let left = await peer.close(flush: common.timeout.duration)
    report()
    guard left.isEmpty else {
      throw Failure(
        .timedOut,
        "No outcome within \(common.timeout.milliseconds) ms for \(left.joined(separator: ", "))."
          + (common.outboxPath.map { " They stay in \($0)." } ?? ""))
    }
    if refused > 0 { throw Failure(.conflict, "\(refused) of \(number) lines were refused.") }
  }
}
