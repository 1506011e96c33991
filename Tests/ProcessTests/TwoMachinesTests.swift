import Foundation
import Testing

/// Two network namespaces with a cable between them: what two machines are to the programs.
private final class TwoMachines {
  let number = UInt16.random(in: 1 ... .max)
  static let tool = "/usr/sbin/ip"

  func name(_ machine: String) -> String { "bb\(machine)\(number)" }

  /// Whether this user may make namespaces here.
  static var arePossible: Bool {
    guard getuid() == 0, FileManager.default.isExecutableFile(atPath: tool) else { return false }
    let trial = "bbtrial\(UInt16.random(in: 1 ... .max))"
    defer { _ = try? RunningProcess(tool, ["netns", "delete", trial]).end() }
    return (try? RunningProcess(tool, ["netns", "add", trial]).end()) == 0
  }

  init() throws {
    for machine in ["a", "b"] { try ip("netns", "add", name(machine)) }
    let cable = ["va\(number)", "vb\(number)"]
    try ip("link", "add", cable[0], "type", "veth", "peer", "name", cable[1])
    for (machine, (end, host)) in zip(["a", "b"], zip(cable, ["10.99.0.1/24", "10.99.0.2/24"])) {
      try ip("link", "set", end, "netns", name(machine))
      try ip("-n", name(machine), "addr", "add", host, "dev", end)
      try ip("-n", name(machine), "link", "set", end, "up")
      try ip("-n", name(machine), "link", "set", "lo", "up")
    }
  }

  deinit {
    for machine in ["a", "b"] { _ = try? RunningProcess(TwoMachines.tool, ["netns", "delete", name(machine)]).end() }
  }

  private func ip(_ arguments: String...) throws {
    let running = try RunningProcess(TwoMachines.tool, arguments)
    try #require(running.end() == 0, "ip \(arguments): \(running.output)")
  }
}

/// Where a machine checks every change as root, the guide is always tried: it fails there instead of being left out.
private let isDemanded = getuid() == 0 && ProcessInfo.processInfo.environment["CI"] != nil

@Suite("Two machines", .serialized, .enabled(if: isDemanded || TwoMachines.arePossible))
struct TwoMachinesTests {
  private let bench: Bench
  private let machines: TwoMachines

  init() throws {
    bench = try Bench()
    machines = try TwoMachines()
  }

  private func start(_ program: String, _ arguments: [String], on machine: String) throws -> RunningProcess {
    let folder = bench.folder.appendingPathComponent(machine)
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return try RunningProcess(
      TwoMachines.tool, ["netns", "exec", machines.name(machine), Bench.program(program)] + arguments, folder: folder,
      variables: [
        "XDG_CONFIG_HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "XDG_DATA_HOME": folder.path,
        "BINDPEER_HUB": "",
      ])
  }

  private func run(
    _ program: String, _ arguments: [String], on machine: String
  ) throws -> (code: Int32?, output: String) {
    let running = try start(program, arguments, on: machine)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  @Test("the commands of the guide connect two machines, and a client without a key gets nothing")
  func guide() throws {
    #expect(try run("bindhub", ["keys", "init"], on: "a").code == 0)
    let hub = try start(
      "bindhub", ["serve", "--listen", "local", "--listen", "tcp://0.0.0.0:7877", "--name", "shop"], on: "a")
    try #require(hub.line { $0.hasPrefix("listening tcp://") } != nil, "\(hub.output)")
    let invited = try run("bindhub", ["invite", "anna"], on: "a")
    #expect(invited.output.contains("tcp://10.99.0.1:7877"), "\(invited.output)")
    let guest = try start("bindpeer", ["join"], on: "b")
    guest.write(try #require(invited.output.split(separator: "\n").first { $0.hasPrefix("bindbus1:") }).description)
    #expect(guest.end() == 0, "\(guest.output)")
    #expect(guest.line { $0.hasSuffix("shop") } != nil, "\(guest.output)")
    #expect(try run("bindpeer", ["--hub", "shop", "set", "lamp.level=0.5"], on: "b").code == 0)
    let listed = try run("bindpeer", ["--hub", "shop", "ls"], on: "b")
    #expect(listed.code == 0 && listed.output.contains("lamp"), "\(listed.output)")
    #expect(try run("bindpeer", ["get", "lamp.level", "--raw"], on: "a").output == "0.5")
    let stranger = try run("bindpeer", ["--hub", "tcp://10.99.0.1:7877", "--timeout", "3s", "ls"], on: "b")
    #expect(stranger.code == 69 && !stranger.output.contains("lamp"), "\(stranger.output)")
    withExtendedLifetime(hub) {}
  }
}
