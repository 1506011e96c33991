import ArgumentParser
import BindingPeer
import BindingTerminal

/// Prints models with their descriptions, for `import`.
struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print models with their descriptions as JSON lines, for import.",
    discussion: """
      Each line is one model at one version: {"model":…,"version":…,"description":…,"values":…}. Values are printed \
      byte for byte. Ephemeral fields are left out, and secret ones are not. Lines of a prefix may be of different \
      moments.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL or PREFIX/. Default: all models.")
  var addresses: [String] = [""]
  @Flag(help: "At an edge: print nothing older than its upstream hub has now. Exit code 75 if that does not answer.")
  var latest = false

  /// So many are joined at a time.
  static let modelsAtOnce = 100

  mutating func run() async throws {
    let asked = try addresses.map { text throws(Failure) in try Address(text) }
    guard asked.allSatisfy({ $0.field == nil }) else { throw Failure(.usage, "export prints whole models, not fields") }
    let peer = try await common.connect(readsLatest: latest)
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    var isMissing = false
    let progress = Progress("export", isWanted: !Terminal.isScreen)
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
          if let line = Export.line(of: model) {
            line.print()
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
    await peer.close(flush: .zero)
    if isMissing { Terminal.leave(.no) }
  }

  /// Nil: the model has no fields.
  private static func line(of model: SharedModel) -> JSONLine? {
    let values = model.values
    let fields = values.filter { !$0.key.hasPrefix("@") }.sorted { $0.key < $1.key }
    guard !fields.isEmpty else { return nil }
    var line = JSONLine()
    line.add("model", .string(model.id))
    line.add("version", .integer(Int64(clamping: model.version.version)))
    if let description = values[Names.description] { line.add("description", description) }
    line.add("values", values: fields.map { ($0.key, $0.value) })
    return line
  }
}
