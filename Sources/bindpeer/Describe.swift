import ArgumentParser
import BindingPeer
import BindingTerminal
import Foundation

/// Prints or replaces the declaration of a model's fields.
struct Describe: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print or replace the declaration of a model's fields.",
    discussion: """
      Programs that share a model only add to its description and widen it. --apply replaces it by the content of a \
      file, as --json prints it: it may narrow ranges and leave fields out. If present values do not fit, it lists \
      them and changes nothing; with --anyway it replaces the description, and they stay until they are written \
      again. It also changes nothing if somebody else changes the description meanwhile.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL")
  var model: String
  @Option(help: "Replace the description by the JSON in this file (- for standard input).")
  var apply: String?
  @Flag(help: "With --apply: replace it although present values do not fit.")
  var anyway = false

  mutating func validate() throws {
    if anyway, apply == nil { throw ValidationError("--anyway needs --apply FILE") }
  }

  mutating func run() async throws {
    let address = try Address(model)
    guard !address.isPrefix, address.field == nil else { throw Failure(.usage, "describe needs a model") }
    let replacement = try apply.map { path throws(Failure) in try Describe.description(in: path) }
    let peer = try await common.connect()
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    let shared = try await reader.read([address])[0].1
    if let replacement {
      try await replace(with: replacement, in: shared)
    } else {
      try await show(shared, reader)
    }
    await peer.close(flush: .zero)
  }

  // MARK: Showing

  private func show(_ shared: SharedModel, _ reader: ModelReader) async throws {
    let description = shared.modelDescription
    if common.json { return Terminal.print(description.json) }
    if description.fields.isEmpty {
      let near = shared.values.isEmpty ? await reader.nearestModel(to: model) : nil
      let hint = near.map { " Did you mean \($0)?" } ?? ""
      throw Failure(.no, "No field of \(model) is declared.\(hint)")
    }
    let names = Dictionary(grouping: description.aliases, by: \.value).mapValues { $0.map(\.key).sorted() }
    for (name, field) in description.ordered {
      Terminal.print(Describe.line(name, field, alsoCalled: names[name] ?? []))
    }
    // What an earlier release wrote, and no present one declares.
    for name in shared.values.keys.sorted() where !name.hasPrefix("@") && description.fields[name] == nil {
      Terminal.print(PrintedText.escaped("\(name)  not declared"))
    }
  }

  static func line(_ name: String, _ field: FieldDescription, alsoCalled aliases: [String]) -> String {
    var parts = ["\(name)", field.policy == "list" ? "list of \(field.type.rawValue)" : field.type.rawValue]
    if field.minimum != nil || field.maximum != nil {
      parts.append("\(field.minimum?.text ?? "…")...\(field.maximum?.text ?? "…")")
    }
    if !field.choices.isEmpty { parts.append("one of " + field.choices.map(\.text).joined(separator: ", ")) }
    if let length = field.maximumLength { parts.append("at most \(length) characters") }
    if let unit = field.unit { parts.append("in \(unit)") }
    if let formerly = field.formerly { parts.append("formerly \(formerly.words)") }
    if let value = field.defaultValue { parts.append("default \(field.isSecret ? "hidden" : value.text)") }
    parts += shown(field)
    if !aliases.isEmpty { parts.append("also called \(aliases.joined(separator: ", "))") }
    // The description is untrusted text.
    return PrintedText.escaped(parts.joined(separator: "  "))
  }

  /// What forms show of a field.
  static func shown(_ field: FieldDescription) -> [String] {
    var parts: [String] = []
    if let step = field.step { parts.append("in steps of \(step.text)") }
    if let title = field.title { parts.append("titled \(JSON.string(title).text)") }
    if let group = field.group { parts.append("in the group \(JSON.string(group).text)") }
    if let widget = field.widget { parts.append("shown as \(widget)") }
    if field.isReadOnly { parts.append("read-only in forms") }
    if field.isSecret { parts.append("secret on screens") }
    if let help = field.help { parts.append("(\(help))") }
    return parts
  }

  // MARK: Replacing

  private static func description(in path: String) throws(Failure) -> FieldValue {
    let isInput = path == "-"
    let data = isInput ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
    guard let data else { throw Failure(.usage, "cannot read the file \(excerpt(path))") }
    let value = FieldValue(bytes: [UInt8](data))
    if let fault = value.fault { throw Failure(.doesNotFit, "\(excerpt(path)): \(fault)") }
    return value
  }

  private func replace(with text: FieldValue, in shared: SharedModel) async throws {
    let misfits = shared.misfits(under: text)
    if !misfits.isEmpty, common.json {
      let values = misfits.map { misfit in
        JSON.object([
          .init("address", .string(misfit.address)), .init("value", (try? misfit.value.json) ?? .null),
          .init("problem", .string(misfit.problem)),
        ])
      }
      Terminal.print(.object([.init("model", .string(shared.id)), .init("misfits", .array(values))]))
    }
    guard anyway || misfits.isEmpty else {
      let lines = misfits.map { "  \(PrintedText.escaped("\($0.address): \($0.problem)"))" }
      throw Failure(
        .conflict,
        """
        refused: \(misfits.count) present \(misfits.count == 1 ? "value does" : "values do") not fit:
        \(lines.joined(separator: "\n"))
        Write values that fit, or replace the description anyway; they stay then:  --anyway
        """)
    }
    try await WriteReport(common: common, model: shared).send(shared.replacement(of: text))
  }
}
