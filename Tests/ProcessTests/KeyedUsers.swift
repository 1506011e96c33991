import Foundation
import Testing

/// Users of different machines: each has a configuration folder of its own, and they share a network only.
struct KeyedUsers {
  let bench: Bench

  init() throws { bench = try Bench() }

  func run(_ program: String, _ arguments: [String], as user: String) throws -> (code: Int32?, output: String) {
    let running = try start(program, arguments, as: user)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  func start(_ program: String, _ arguments: [String], as user: String) throws -> RunningProcess {
    try RunningProcess(
      Bench.program(program), arguments, folder: bench.folder,
      variables: ["XDG_CONFIG_HOME": configuration(user), "BINDPEER_HUB": ""])
  }

  func configuration(_ user: String) -> String { bench.folder.appendingPathComponent(user).path }

  /// Starts a hub with keys on a free port.
  func startHub() throws -> RunningProcess {
    let made = try run("bindhub", ["keys", "init"], as: "host")
    try #require(made.code == 0, "\(made.output)")
    return try serve()
  }

  /// Starts a hub with the keys that are there, on a free port.
  func serve(_ options: [String] = ["--store", "memory"]) throws -> RunningProcess {
    let hub = try start(
      "bindhub", ["serve", "--listen", "tcp://127.0.0.1:0", "--name", "shop"] + options, as: "host")
    try #require(hub.line { $0.hasPrefix("listening tcp://") } != nil, "\(hub.output)")
    return hub
  }

  /// Invites a member, and returns the file with the line.
  func invite(_ name: String, _ options: [String] = []) throws -> String {
    let invited = try run("bindhub", ["invite", name] + options, as: "host")
    let line = invited.output.split(separator: "\n").first { $0.hasPrefix("bindbus1:") }
    let file = bench.folder.appendingPathComponent("invitation-\(name)")
    try Data("\(try #require(line, "\(invited.output)"))\n".utf8).write(to: file)
    return file.path
  }
}
