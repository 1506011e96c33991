import Foundation
import Testing

@Suite("Signals that end a hub", .serialized)
struct StopTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func start(_ more: String...) throws -> RunningProcess {
    let hub = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--listen", bench.hub, "--log", "error", "--store", "memory"] + more)
    try #require(hub.line { $0.hasPrefix("listening") } != nil, "\(hub.output)")
    return hub
  }

  @Test(
    "a signal sent as soon as the hub listens ends it with the same code each time",
    arguments: [(SIGTERM, 0), (SIGINT, 130)] as [(Int32, Int32)])
  func atOnce(signal: Int32, code: Int32) throws {
    for round in 1...20 {
      let hub = try start()
      hub.send(signal)
      #expect(hub.end() == code, "round \(round)")
    }
  }

  @Test("signals during the hub's shutdown change neither the exit code nor the closing of the store")
  func whileClosing() throws {
    for _ in 0..<5 {
      let hub = try RunningProcess(
        Bench.program("bindhub"), ["serve", "--listen", bench.hub, "--store", bench.folder.path + "/s.db"])
      try #require(hub.line { $0.hasPrefix("listening") } != nil, "\(hub.output)")
      hub.send(SIGINT)
      for _ in 0..<3 { hub.send(SIGTERM) }
      #expect(hub.end() == 130)
      #expect(hub.output.contains { $0.contains("stopped") }, "\(hub.output)")
    }
  }

  @Test("SIGHUP does not end a hub whose terminal is open, and prints one line")
  func hangup() throws {
    let hub = try start("--log", "info")
    hub.send(SIGHUP)
    #expect(hub.line { $0.contains("reloading the rights") } != nil, "\(hub.output)")
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    hub.send(SIGTERM)
    #expect(hub.end() == 0)
  }

  @Test("a hub prints its endpoint once on a terminal and ends cleanly when that closes")
  func terminal() throws {
    // Runs the hub on a pseudoterminal, which closes once the hub has printed its endpoint.
    let script = """
      import os, pty, sys, time
      pid, terminal = pty.fork()
      if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
      said = b""
      while b"listening" not in said: said += os.read(terminal, 4096)
      time.sleep(0.3)
      os.set_blocking(terminal, False)
      try: said += os.read(terminal, 4096)
      except BlockingIOError: pass
      print("said", said.count(b"listening"), flush=True)
      os.close(terminal)
      for _ in range(600):
          ended, status = os.waitpid(pid, os.WNOHANG)
          if ended: break
          time.sleep(0.05)
      print("ended", os.waitstatus_to_exitcode(status) if ended else "never", flush=True)
      """
    let store = bench.folder.path + "/s.db"
    let run = try RunningProcess(
      "/usr/bin/env",
      ["python3", "-c", script, Bench.program("bindhub"), "serve", "--listen", bench.hub, "--store", store])
    #expect(run.line { $0.hasPrefix("ended") } == "ended 0", "\(run.output)")
    #expect(run.output.contains("said 1"), "\(run.output)")
    let left = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
    #expect(!left.contains { $0.hasSuffix("-wal") || $0.hasPrefix("hub.sock") }, "\(left)")
  }
}
