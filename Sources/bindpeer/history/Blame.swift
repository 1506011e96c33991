import ArgumentParser
import BindingPeer
import BindingTerminal

/// Says who wrote each field last.
struct Blame: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say who wrote each field of a model last, in which version and when.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL or MODEL.FIELD.")
  var address: String

  mutating func run() async throws {
    let address = try Address(address)
    guard !address.isPrefix else { throw Failure(.usage, "blame needs one model or one field") }
    let peer = try await common.connect()
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    let (stored, model) = try await reader.read([address])[0]
    let named = model.values.keys.filter { stored.field == nil ? !$0.hasPrefix("@") : $0 == stored.field }.sorted()
    let fields = named.flatMap { parts(of: $0, stored.element, in: model) }
    guard !fields.isEmpty else {
      let field = address.field.flatMap { nearest(to: $0, among: model.values.keys) }.map { "\(model.id).\($0)" }
      let other = model.values.isEmpty ? await reader.nearestModel(to: model.id) : nil
      let hint = (field ?? other).map { " Did you mean \($0)?" } ?? ""
      throw Failure(.no, "\(address.description) has no value.\(hint)")
    }
    var lines = AlignedLines()
    for field in fields {
      guard let record = model.record(field) else { continue }
      if common.json {
        JSONLine(blaming: record, for: field, of: model.id).print()
      } else {
        lines.add([
          FieldTitle.of(field), model.readable(record.committed, of: field, limit: 40), "\(record.version)",
          record.origin.attribution,
          "\(PastTime.age(of: record.time)), \(PastTime.shown(record.time))",
        ])
      }
    }
    lines.print(dim: [3, 4], right: [2])
    await peer.close(flush: .zero)
  }
}

extension Blame {
  /// The fields of which a field consists: a list of those of its elements, or the named one.
  private func parts(of field: String, _ element: ElementAddress?, in model: SharedModel) -> [String] {
    guard let list = UntypedList(field, in: model), !list.ids.isEmpty else { return [field] }
    return list.ids.filter { element == nil || $0 == element?.id }.map(list.field)
  }
}

extension JSONLine {
  /// Who wrote a field last; a test pins the names.
  fileprivate init(blaming record: FieldRecord, for field: String, of model: String) {
    self.init()
    add("model", .string(model))
    add("field", .string(field))
    add("value", record.committed)
    add("version", .integer(Int64(clamping: record.version)))
    add(record.origin)
    add("time", .integer(Int64(clamping: record.time)))
  }
}
