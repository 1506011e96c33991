import ArgumentParser
import BindingPeer
import BindingTerminal

/// Prints models with their descriptions, for `import`.
struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print models with their descriptions as JSON lines, for import; or as a table.",
    discussion: """
      Each line is one model at one version: {"model":…,"version":…,"description":…,"values":…}. Values are printed \
      byte for byte. Ephemeral fields are left out, and secret ones are not. Lines of a prefix may be of different \
      moments.

      With --csv, for spreadsheets: a first row model,FIELD,…, then a row for each model. Text stands as it is, and \
      everything else as JSON; so does text that would be read as something else (12, true, nothing, =1+1). No value \
      is an empty cell. Import reads all values back as they were; descriptions are not in it.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL or PREFIX/. Default: all models.")
  var addresses: [String] = [""]
  @Flag(help: "At an edge: print nothing older than its upstream hub has now. Exit code 75 if that does not answer.")
  var latest = false
  @Flag(help: "Print a table: comma-separated values, one row a model, one column a field.")
  var csv = false

  /// So many are joined at a time.
  static let modelsAtOnce = 100

  mutating func run() async throws {
    let asked = try addresses.map { text throws(Failure) in try Address(text) }
    guard asked.allSatisfy({ $0.field == nil }) else { throw Failure(.usage, "export prints whole models, not fields") }
    let peer = try await common.connect(readsLatest: latest)
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    var (isMissing, table) = (false, ExportedTable())
    let progress = Progress("export", isWanted: csv || !Terminal.isScreen)
    for address in asked {
      let ids = address.isPrefix ? try await reader.models(below: address.model) : [address.model]
      if ids.isEmpty, !address.model.isEmpty {
        Terminal.complain(await reader.nothing(below: address.model))
        isMissing = true
      }
      for start in stride(from: 0, to: ids.count, by: Export.modelsAtOnce) {
        let group = try ids[start..<min(start + Export.modelsAtOnce, ids.count)].map { id throws(Failure) in
          try Address(id)
        }
        for (_, model) in try await reader.read(group) {
          let (description, fields) = Export.content(of: model)
          if !fields.isEmpty {
            if csv { table.add(model.id, fields) } else { Export.line(of: model, description, fields).print() }
          } else if !address.isPrefix {
            Terminal.complain("\(model.id) has no fields.")
            isMissing = true
          }
        }
        let done = start + group.count
        progress.show(Double(done) / Double(ids.count)) { "\(done) of \(ids.count) models" }
      }
    }
    progress.end()
    if csv { table.print() }
    await peer.close(flush: .zero)
    if isMissing { Terminal.leave(.no) }
  }

  /// The description of a model, and its fields sorted by name.
  private static func content(of model: SharedModel) -> (FieldValue?, [(field: String, value: FieldValue)]) {
    let values = model.values
    let fields = values.filter { !$0.key.hasPrefix("@") }.sorted { $0.key < $1.key }
    return (values[Names.description], fields.map { ($0.key, $0.value) })
  }

  private static func line(
    of model: SharedModel, _ description: FieldValue?, _ fields: [(field: String, value: FieldValue)]
  ) -> JSONLine {
    var line = JSONLine()
    line.add("model", .string(model.id))
    line.add("version", .integer(Int64(clamping: model.version.version)))
    if let description { line.add("description", description) }
    line.add("values", values: fields.map { ($0.field, $0.value) })
    return line
  }
}

/// Rows of `export --csv`. They are printed at the end, because the first one names the fields of all models.
private struct ExportedTable {
  private var rows: [(model: String, values: [String: FieldValue])] = []
  private var fields: Swift.Set<String> = []

  mutating func add(_ model: String, _ values: [(field: String, value: FieldValue)]) {
    rows.append((model, Dictionary(values.map { ($0.field, $0.value) }) { first, _ in first }))
    fields.formUnion(values.map(\.field))
  }

  func print() {
    let columns = fields.sorted()
    Terminal.print(CSV.line(["model"] + columns))
    for (model, values) in rows {
      Terminal.print(CSV.line([model] + columns.map { TableCell.text(of: values[$0]) }))
    }
  }
}
