import Foundation
import Testing

@Suite("Real processes", .serialized)
struct ProcessTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test("every watcher prints each process's writes with the same versions in the same order")
  func everyWatcherFollows() throws {
    let hub = try bench.startHub()
    let watchers = [try bench.start("watch", "lamp", "--json"), try bench.start("watch", "lamp", "--json")]
    for level in ["0.25", "0.5", "0.75"] { #expect(try bench.run("set", "lamp.level=\(level)").code == 0) }
    for watcher in watchers {
      try #require(watcher.line { $0.contains("\"level\":0.75") } != nil, "\(watcher.output)")
      let levels = watcher.output.compactMap { line in
        ["0.25", "0.5", "0.75"].first { line.contains("\"level\":\($0)") }
      }
      // A late watcher got the first values as one snapshot.
      #expect(levels == Array(["0.25", "0.5", "0.75"].suffix(levels.count)))
    }
    withExtendedLifetime(hub) {}
  }

  @Test("a command without a hub prints how to start one and exits 69")
  func noHub() throws {
    let (code, output) = try bench.run("get", "lamp", "--timeout", "300ms")
    #expect(code == 69)
    #expect(output.contains("bindhub serve"))
  }

  @Test("a compare-and-set on an old version exits 3 and names the last writer")
  func conflict() throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=0.8", "--name", "other")
    let (code, output) = try bench.run("set", "lamp.level=0.5", "--if-version", "0")
    #expect(code == 3)
    #expect(output.contains("set to 0.8 by other-"))
    withExtendedLifetime(hub) {}
  }

  @Test("usage, an unfit value, a missing model and a timed-out wait have distinct exit codes")
  func exitCodes() throws {
    let hub = try bench.startHub()
    #expect(try bench.run("set", "lamp..x=1").code == 64)
    #expect(try bench.run("set", "lamp.x+=word").code == 65)
    #expect(try bench.run("get", "nothing").code == 1)
    #expect(try bench.run("wait", "lamp.on=true", "--timeout", "300ms").code == 75)
    withExtendedLifetime(hub) {}
  }

  @Test("a second hub at the same endpoint exits 73 and names the first one's process")
  func secondHub() throws {
    let first = try bench.startHub()
    let second = try RunningProcess(Bench.program("bindhub"), ["serve", "--listen", bench.hub, "--log", "error"])
    #expect(second.end() == 73)
    #expect(second.line { $0.contains("\(first.pid)") } != nil)
  }

  @Test("tcp beyond loopback is refused with 78")
  func notLoopback() throws {
    let hub = try RunningProcess(Bench.program("bindhub"), ["serve", "--listen", "tcp://0.0.0.0:0", "--log", "error"])
    #expect(hub.end() == 78)
  }

  @Test("a watcher stopped while others write catches up with the last value")
  func stoppedWatcher() throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=0.1")
    let watcher = try bench.start("watch", "lamp", "--json")
    try #require(watcher.line { $0.contains("0.1") } != nil)
    watcher.send(SIGSTOP)
    for number in 1...20 { try bench.run("set", "lamp.level=\(number)") }
    watcher.send(SIGCONT)
    #expect(watcher.line { $0.contains("\"level\":20") } != nil)
    withExtendedLifetime(hub) {}
  }

  @Test("a killed hub without a store recovers from its peers, which continue by themselves")
  func killedHub() throws {
    let first = try bench.startHub()
    try bench.run("set", "lamp.level=0.8")
    let watcher = try bench.start("watch", "lamp", "--json", "--wait-for-hub")
    try #require(watcher.line { $0.contains("0.8") } != nil)
    first.send(SIGKILL)
    _ = first.end()
    let second = try bench.startHub()
    // The watcher must return first: it alone still has the model.
    let end = Date(timeIntervalSinceNow: 20)
    var output = ""
    while !output.contains("0.8"), Date() < end { output = try bench.run("get", "lamp").output }
    #expect(output.contains("lamp.level = 0.8"))
    try bench.run("set", "lamp.level=0.9")
    #expect(watcher.line { $0.contains("0.9") } != nil)
    withExtendedLifetime(second) {}
  }

  @Test("eight processes that write one field fifty times each end with one value everywhere")
  func eightWriters() throws {
    let hub = try bench.startHub()
    let watcher = try bench.start("watch", "m", "--json", "--wait-for-hub")
    let writers = try (0..<8).map { _ in try bench.start("pipe", "m") }
    for number in 1...50 {
      for (index, writer) in writers.enumerated() {
        writer.write("{\"x\":\"\(index).\(number)\",\"w\(index)\":\(number)}")
      }
    }
    for index in 0..<8 { #expect(try bench.run("wait", "m.w\(index)=50", "--timeout", "20s").code == 0) }
    let value = try bench.run("get", "m.x", "--raw").output
    #expect(watcher.line { $0.contains("\"x\":\"\(value)\"") } != nil)
    for writer in writers { #expect(writer.line { $0.contains("\"x\":\"\(value)\"") } != nil) }
    let versions = watcher.output.compactMap(version)
    #expect(versions == versions.sorted() && Set(versions).count == versions.count)
    withExtendedLifetime(hub) {}
  }

  @Test("the Python peer reads, writes and watches together with other peers")
  func pythonPeer() throws {
    let python = ProcessInfo.processInfo.environment["BINDBUS_PYTHON"] ?? "/usr/bin/python3"
    let probe = try RunningProcess(python, ["-c", "import zmq"])
    try #require(probe.end() == 0, "\(python) has no pyzmq: run scripts/setup")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Examples/python/bindpeer.py").standardized.path
    let first = try bench.startHub()
    let watcher = try RunningProcess(python, [script, "watch", "lamp", "--for", "60"], hub: bench.hub)
    let writer = try RunningProcess(python, [script, "set", "lamp", "level=0.8"], hub: bench.hub)
    #expect(writer.end() == 0)
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.8")
    try bench.run("set", "lamp.level=0.9")
    try #require(watcher.line { $0.contains("\"level\": 0.9") } != nil, "\(watcher.output)")
    first.send(SIGKILL)
    _ = first.end()
    let second = try bench.startHub()
    let end = Date(timeIntervalSinceNow: 20)
    while try bench.run("get", "lamp.level", "--raw").output != "0.9", Date() < end {}
    #expect(try bench.run("set", "lamp.level=0.95").code == 0)
    #expect(watcher.line { $0.contains("\"level\": 0.95") } != nil)
    withExtendedLifetime(second) {}
  }

  @Test("a hub that gets SIGTERM exits 0")
  func gracefulEnd() throws {
    let hub = try bench.startHub()
    hub.send(SIGTERM)
    #expect(hub.end() == 0)
  }

  private func version(_ line: String) -> Int? {
    line.components(separatedBy: "\"version\":").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) }
  }
}
