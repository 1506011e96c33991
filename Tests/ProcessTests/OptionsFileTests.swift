import BindingProtocol
import Foundation
import Testing

/// Hubs whose options are not all on the command line.
@Suite("Files of options", .serialized)
struct OptionsFileTests {
  private let bench: Bench
  private let path: String

  init() throws {
    bench = try Bench()
    path = bench.folder.appendingPathComponent("hub.conf").path
  }

  private func write(_ lines: String...) throws {
    try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }

  private func bindhub(
    _ arguments: String..., variables: [String: String] = [:]
  ) throws -> (code: Int32?, lines: [String]) {
    let program = try RunningProcess(Bench.program("bindhub"), arguments, variables: variables)
    let code = program.end()
    return (code, program.output)
  }

  @Test("a hub runs with what its file says, and `config` tells where each option comes from")
  func serves() throws {
    try write("# Of the shop.", "listen = \(bench.hub)", "store = shop.db", "name = shop", "log = error")
    let options = ["--config", path, "--name", "till"]
    let hub = try RunningProcess(Bench.program("bindhub"), ["serve", "--exit-with-stdin"] + options)
    try #require(hub.line { $0 == "listening \(bench.hub)" } != nil, "\(hub.output)")
    let status = try bindhub("status", "--hub", bench.hub)
    #expect(status.lines.first?.hasPrefix("till  ") == true, "\(status.lines)")
    #expect(FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent("shop.db").path))

    let shown = try bindhub("config", "--config", path, "--name", "till", variables: ["BINDHUB_LEASE": "5000"])
    let words = shown.lines.map { $0.split(separator: " ").map(String.init) }
    #expect(shown.code == 0 && words.contains(["listen", bench.hub, "\(path):2"]), "\(shown.lines)")
    #expect(words.contains(["store", "\(bench.folder.path)/shop.db", "\(path):3"]))
    #expect(words.contains(["name", "till", "command", "line"]) && words.contains(["lease", "5000", "BINDHUB_LEASE"]))
    #expect(words.contains(["durability", "process", "default"]) && words.contains(["insecure", "no", "default"]))

    let json = try FieldValue(text: try bindhub("config", "--json", "--config", path).lines.joined()).json
    #expect(json["config"] == .string(path))
    guard case .array(let all)? = json["options"] else { return #expect(Bool(false), "\(json)") }
    #expect(
      all.first { $0["name"] == "name" }
        == .object([
          .init("name", "name"), .init("values", .array(["shop"])), .init("source", "file"), .init("line", 4),
        ]))
    #expect(all.first { $0["name"] == "upstream" }?["values"] == .array([]))
  }

  @Test("a file that cannot be read, or says what no hub knows, is refused with 78, and help is not")
  func refused() throws {
    try write("listen = \(bench.hub)", "lisen = local")
    let misspelt = try bindhub("serve", "--config", path)
    #expect(
      misspelt.code == 78
        && misspelt.lines == ["\(path):2: bindhub serve has no option 'lisen'. Did you mean 'listen'?"],
      "\(misspelt)")
    #expect(try bindhub("serve", "--help", variables: ["BINDHUB_CONFIG": path]).code == 0)
    let absent = try bindhub("config", variables: ["BINDHUB_CONFIG": path + "x"])
    #expect(absent.code == 78 && absent.lines.first?.contains("\(path)x: No such file") == true, "\(absent)")
    let folder = try bindhub("config", "--config", bench.folder.path)
    #expect(folder.code == 78 && folder.lines.first?.contains("Is a directory") == true, "\(folder)")
    try write("upstream = \(bench.hub)")
    let contrary = try bindhub("serve", "--config", path, "--store", "memory")
    #expect(contrary.code == 64, "\(contrary)")
    #expect(contrary.lines.contains { $0.hasSuffix("bindhub config") }, "\(contrary)")
  }
}
