import ArgumentParser
import BindingProtocol
import BindingTerminal
import Foundation

/// Tells which options `bindhub serve` would run with, and where each comes from.
struct ShowConfiguration: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Show the options that 'bindhub serve' would run with, and where each comes from.",
    usage: "bindhub config [<options of bindhub serve>] [--json]",
    discussion: """
      The first that names an option counts: the command line, the environment (BINDHUB_STORE for --store), the file \
      of --config or BINDHUB_CONFIG, the default.
      """)

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Options of bindhub serve") var serve: Serve

  func run() throws {
    // Who asks for help alone does not come here.
    guard let settings = BindHubCommand.settings else { return }
    let rows = ServeOption.all.map { option in row(of: option, settings) }
    guard !json else { return print(object(rows, settings.file).text) }
    let shown = rows.filter { !$0.values.isEmpty }
    let width = { (column: [String]) in column.map(\.count).max() ?? 0 }
    let (names, values) = (width(shown.map(\.name)), width(shown.map { $0.values.joined(separator: " ") }))
    for row in shown {
      let value = row.values.joined(separator: " ")
      let line = [
        row.name.padding(toLength: names, withPad: " ", startingAt: 0),
        value.padding(toLength: min(values, 48), withPad: " ", startingAt: 0), row.source(in: settings.file),
      ]
      print((value.count > 48 ? [line[0], value, line[2]] : line).joined(separator: "  "))
    }
  }

  private struct Row {
    let name: String
    let values: [String]
    /// nil: the default.
    let origin: ServeSettings.Source?

    func source(in file: String?) -> String {
      switch origin {
      case .commandLine: "command line"
      case .variable(let name): name
      case .line(let line): "\(file ?? ""):\(line)"
      case nil: "default"
      }
    }
  }

  private func row(of option: ServeOption, _ settings: ServeSettings) -> Row {
    if let setting = settings.settings.first(where: { $0.name == option.name }) {
      return Row(name: option.name, values: setting.values, origin: setting.source)
    }
    let isAtHub = option.name == "listen" && HubAddress.namedInEnvironment != nil
    return Row(
      name: option.name, values: option.usual(serve).map { [$0] } ?? [],
      origin: isAtHub ? .variable("BINDPEER_HUB") : nil)
  }

  private func object(_ rows: [Row], _ file: String?) -> JSON {
    .object([
      .init("config", file.map { .string($0) } ?? .null),
      .init(
        "options",
        .array(
          rows.map { row in
            var members: [JSON.Member] = [
              .init("name", .string(row.name)), .init("values", .array(row.values.map { .string($0) })),
            ]
            switch row.origin {
            case .commandLine: members.append(.init("source", "command line"))
            case .variable(let name): members += [.init("source", "environment"), .init("variable", .string(name))]
            case .line(let line): members += [.init("source", "file"), .init("line", .integer(Int64(line)))]
            case nil: members.append(.init("source", "default"))
            }
            return .object(members)
          })),
    ])
  }
}
