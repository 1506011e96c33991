import Foundation
import Testing

@Suite("Faults between real processes", .serialized)
struct FaultTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test("a peer whose connection is lost on its side only writes again within its time limit")
  func halfOpen() throws {
    let hub = try bench.startHub()
    let path = bench.folder.appendingPathComponent("relay.sock").path
    let relay = try Relay(at: path, to: bench.folder.appendingPathComponent("hub.sock").path)
    let writer = try RunningProcess(Bench.program("bindpeer"), ["pipe", "lamp"], hub: "ipc://\(path)")
    let watcher = try bench.start("watch", "lamp", "--json")
    writer.write("{\"level\":0.25}")
    try #require(watcher.line { $0.contains("0.25") } != nil, "\(writer.output)")
    for level in ["0.5", "0.75"] {
      relay.losePeerSides()
      writer.write("{\"level\":\(level)}")
      #expect(try bench.run("wait", "lamp.level=\(level)", "--timeout", "5s").code == 0)
    }
    #expect(relay.connections >= 3)
    withExtendedLifetime(hub) {}
  }

  @Test("a watcher stopped for ten seconds ends at the newest value and never shows an older version")
  func longStop() throws {
    let hub = try bench.startHub()
    let writer = try bench.start("pipe", "lamp")
    let watcher = try bench.start("watch", "lamp", "--json")
    writer.write("{\"level\":0}")
    try #require(watcher.line { $0.contains("\"level\":0") } != nil)
    watcher.send(SIGSTOP)
    // The stop is the fault itself: longer than a heartbeat's timeout and as long as a lease.
    let end = Date(timeIntervalSinceNow: 10)
    var number = 0
    while Date() < end {
      number += 1
      writer.write("{\"level\":\(number)}")
      usleep(20_000)
    }
    watcher.send(SIGCONT)
    writer.write("{\"level\":-1}")
    #expect(watcher.line { $0.contains("\"level\":-1") } != nil, "\(watcher.output.suffix(5))")
    let versions = watcher.output.compactMap(version)
    #expect(versions == versions.sorted())
    withExtendedLifetime(hub) {}
  }

  @Test("writes made while the hub is stopped are committed when it continues")
  func stoppedHub() throws {
    let hub = try bench.startHub()
    let writer = try bench.start("pipe", "lamp")
    let watcher = try bench.start("watch", "lamp", "--json")
    writer.write("{\"level\":1}")
    try #require(watcher.line { $0.contains("\"level\":1") } != nil)
    hub.send(SIGSTOP)
    for number in 2...40 {
      writer.write("{\"level\":\(number)}")
      usleep(100_000)
    }
    hub.send(SIGCONT)
    #expect(watcher.line { $0.contains("\"level\":40") } != nil, "\(watcher.output)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "40")
  }

  @Test("a hub stopped for ten seconds continues with its peers and all their writes")
  func longStoppedHub() throws {
    let hub = try bench.startHub()
    let writers = try (0..<2).map { _ in try bench.start("pipe", "lamp") }
    for (index, writer) in writers.enumerated() { writer.write("{\"w\(index)\":0}") }
    for index in 0..<2 { #expect(try bench.run("wait", "lamp.w\(index)=0", "--timeout", "20s").code == 0) }
    hub.send(SIGSTOP)
    // The stop is the fault itself: as long as a lease.
    let end = Date(timeIntervalSinceNow: 10)
    var number = 0
    while Date() < end {
      number += 1
      for (index, writer) in writers.enumerated() { writer.write("{\"w\(index)\":\(number)}") }
      usleep(50_000)
    }
    hub.send(SIGCONT)
    for index in 0..<2 { #expect(try bench.run("wait", "lamp.w\(index)=\(number)", "--timeout", "20s").code == 0) }
    for writer in writers {
      #expect(writer.line { $0.contains("\"w0\":\(number)") } != nil, "\(writer.output.suffix(3))")
    }
  }

  @Test("a killed writer does not disturb other peers")
  func killedWriter() throws {
    let hub = try bench.startHub()
    let watcher = try bench.start("watch", "lamp", "--json")
    let writer = try bench.start("pipe", "lamp")
    for number in 1...200 { writer.write("{\"level\":\(number)}") }
    try #require(watcher.line { $0.contains("\"level\"") } != nil)
    writer.send(SIGKILL)
    #expect(try bench.run("set", "lamp.level=-5").code == 0)
    #expect(watcher.line { $0.contains("\"level\":-5") } != nil)
    withExtendedLifetime(hub) {}
  }

  private func version(_ line: String) -> Int? {
    line.components(separatedBy: "\"version\":").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) }
  }
}
