import Foundation
import Testing

/// Where a hub may listen, how it reports a refusal, and which files it leaves.
@Suite("Endpoints of a hub", .serialized)
struct ListeningTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// Starts a hub that must not start. Returns its exit code and output.
  private func refused(_ arguments: String...) throws -> (code: Int32?, text: String) {
    let hub = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--exit-with-stdin", "--log", "error", "--store", "memory"] + arguments)
    let code = hub.end()
    return (code, hub.output.joined(separator: "\n"))
  }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter { $0.contains(".sock") }
  }

  /// Starts a program that is no hub and listens on a port. Returns both.
  private func takenPort() throws -> (program: RunningProcess, port: Int) {
    let script = """
      import socket, time
      s = socket.socket()
      s.bind(("127.0.0.1", 0))
      s.listen()
      print("port", s.getsockname()[1], flush=True)
      time.sleep(120)
      """
    let program = try RunningProcess("/usr/bin/env", ["python3", "-c", script])
    let line = try #require(program.line { $0.hasPrefix("port ") })
    return (program, try #require(Int(line.dropFirst(5))))
  }

  @Test("a hub leaves no socket file after a clean end or a refused start")
  func noLeftovers() throws {
    let first = try bench.startHub()
    #expect(try files().contains("hub.sock.pub"))
    let other = bench.folder.appendingPathComponent("other.sock").path
    let (code, text) = try refused("--listen", "ipc://\(other)", "--listen", bench.hub)
    #expect(code == 73, "\(text)")
    #expect(try files().filter { $0.hasPrefix("other") } == [])
    first.send(SIGTERM)
    #expect(first.end() == 0)
    #expect(Set(try files()).isDisjoint(with: ["hub.sock", "hub.sock.pub", "hub.sock.lock"]))
  }

  @Test("a port taken by another program is distinguished from one taken by a hub")
  func whoHasThePort() throws {
    let (program, port) = try takenPort()
    let (code, text) = try refused("--listen", "tcp://127.0.0.1:\(port)")
    #expect(code == 73 && text.contains("Another program uses port \(port)."), "\(text)")
    let hub = try bench.startHub(["--listen", "tcp://127.0.0.1:0"])
    let line = try #require(hub.line { $0.hasPrefix("listening tcp") })
    let taken = try refused("--listen", String(line.dropFirst("listening ".count)))
    #expect(taken.code == 73 && taken.text.contains("Another hub listens at"), "\(taken.text)")
    withExtendedLifetime((program, hub)) {}
  }

  @Test("a taken publish port is named as such")
  func publishPort() throws {
    let (program, port) = try takenPort()
    let (code, text) = try refused("--listen", "tcp://127.0.0.1:\(port - 1)")
    #expect(code == 73, "\(text)")
    #expect(
      text.contains("uses port \(port), on which a hub at tcp://127.0.0.1:\(port - 1) publishes")
        || text.contains("uses port \(port - 1)."), "\(text)")
    withExtendedLifetime(program) {}
  }

  @Test(
    "an impossible address is refused with the reason",
    arguments: [
      ("tcp://127.0.0.1:65535", "65535 is the last"), ("tcp://no-such-host:7877", "no such address"),
      ("ipc:///tmp/" + String(repeating: "x", count: 100) + "/hub.sock", "at most 107 bytes"),
    ])
  func badAddress(address: String, words: String) throws {
    let (code, text) = try refused("--insecure", "--listen", address)
    #expect(code == 73)
    #expect(text.contains(words) && !text.contains("EAGAIN"), "\(text)")
  }

  @Test("a missing directory that was named is not created, and the command that creates it is printed")
  func missingDirectory() throws {
    let missing = bench.folder.appendingPathComponent("missing").path
    let (code, text) = try refused("--listen", "ipc://\(missing)/hub.sock")
    #expect(code == 73 && text.contains("mkdir -p -m 700 \(missing)"), "\(text)")
    #expect(!FileManager.default.fileExists(atPath: missing))
  }

  @Test("a hub with too few open files exits 78 and prints how to allow more")
  func tooFewFiles() throws {
    let store = bench.folder.path + "/s.db"
    let hub = try RunningProcess(
      "/bin/sh", ["-c", "ulimit -n 24; exec \(Bench.program("bindhub")) serve --listen \(bench.hub) --store \(store)"])
    #expect(hub.end() == 78)
    #expect(hub.line { $0.contains("ulimit -n") } != nil, "\(hub.output)")
  }

  @Test("a flood of connections at a hub with few open files costs only the flood", arguments: [64, 256])
  func flood(files: Int) throws {
    let command = "ulimit -n \(files); exec \(Bench.program("bindhub")) serve --listen \(bench.hub) --exit-with-stdin"
    let hub = try RunningProcess("/bin/sh", ["-c", command + " --store memory"])
    try #require(hub.line { $0.hasPrefix("listening") } != nil, "\(hub.output)")
    for _ in 0..<3 {
      let crowd = SilentConnections(to: bench.folder.appendingPathComponent("hub.sock").path, count: 1_000)
      withExtendedLifetime(crowd) {}
    }
    try bench.wait("refusedConnections", of: "gate", atLeast: 1)
    #expect(try bench.run("set", "lamp.level=1", "--timeout", "20s").code == 0)
    hub.send(SIGTERM)
    #expect(hub.end() == 0)
    #expect((files < 256) == hub.output.contains { $0.contains("the limit of open files is low") }, "\(hub.output)")
  }

  @Test("--insecure is shown in log and status, and to peers, only where other machines reach the hub")
  func insecure() throws {
    for (address, isOpen) in [("tcp://0.0.0.0:0", true), ("tcp://127.0.0.1:0", false)] {
      let hub = try bench.startHub(["--listen", address, "--insecure", "--log", "warning"])
      let words = try status()
      #expect(words.contains("\nINSECURE: any client on the network") == isOpen, "\(words)")
      let json = try status("--json")
      #expect(json.contains(#""insecure":\#(isOpen)"#), "\(json)")
      hub.send(SIGTERM)
      #expect(hub.end() == 0)
      #expect(hub.output.contains { $0.contains("INSECURE: any client on the network") } == isOpen, "\(hub.output)")
    }
  }

  private func status(_ more: String...) throws -> String {
    let asking = try RunningProcess(Bench.program("bindhub"), ["status", "--hub", bench.hub] + more)
    #expect(asking.end() == 0)
    return asking.output.joined(separator: "\n")
  }
}
