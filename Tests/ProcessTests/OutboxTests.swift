import Foundation
import Testing

@Suite("Outboxes on disk between real processes", .serialized)
struct OutboxTests {
  private let bench: Bench
  private let file: String

  init() throws {
    bench = try Bench()
    file = bench.folder.appendingPathComponent("outbox").path
  }

  /// Polls until the file contains these bytes, at most 20 s.
  private func isInFile(_ text: String) -> Bool {
    let end = Date(timeIntervalSinceNow: 20)
    while Date() < end {
      if FileManager.default.contents(atPath: file)?.range(of: Data(text.utf8)) != nil { return true }
      usleep(2_000)
    }
    return false
  }

  @Test("writes of a killed process whose hub was stopped are committed once, by the next run")
  func killedWriter() throws {
    let hub = try bench.startHub()
    let writer = try bench.start("pipe", "lamp", "--outbox", file)
    let watcher = try bench.start("watch", "lamp", "--json")
    writer.write("{\"f1\":1}")
    try #require(watcher.line { $0.contains("\"f1\":1") } != nil, "\(writer.output)")
    hub.send(SIGSTOP)
    for number in 2...40 { writer.write("{\"f\(number)\":\(number)}") }
    try #require(isInFile("f40"), "\(writer.output)")
    writer.send(SIGKILL)
    _ = writer.end()
    // The hub has received some frames already: their proposals arrive twice.
    hub.send(SIGCONT)
    let run = try bench.run("get", "lamp", "--json", "--outbox", file, "--timeout", "20s")
    #expect(run.code == 0, "\(run.output)")
    for number in 1...40 { #expect(run.output.contains("\"f\(number)\":\(number)"), "\(run.output)") }
    // As many commits as writes: none was applied twice.
    #expect(run.output.contains("\"version\":40"), "\(run.output)")
    #expect(try bench.run("get", "lamp", "--json", "--outbox", file).output.contains("\"version\":40"))
    #expect(FileManager.default.contents(atPath: file)?.count == 16)
  }

  @Test("a write without a hub stays in the outbox, exits 75 and is sent by the next run")
  func withoutHub() throws {
    for value in ["false", "true"] {
      let kept = try bench.run("set", "lamp.on=\(value)", "--outbox", file, "--timeout", "200ms")
      #expect(kept.code == 75 && kept.output.contains("Stored in \(file): lamp.on"), "\(kept)")
    }
    let toggled = try bench.run("set", "lamp.on!", "--outbox", file, "--timeout", "200ms")
    #expect(toggled.code == 69, "\(toggled)")
    let hub = try bench.startHub()
    let got = try bench.run("get", "lamp.on", "--raw", "--outbox", file)
    #expect(
      got.code == 0 && got.output.contains("2 earlier writes completed") && got.output.hasSuffix("true"), "\(got)")
    #expect(try bench.run("get", "lamp.on", "--meta").output.contains("version 2"))
    withExtendedLifetime(hub) {}
  }

  @Test("an outbox that is in use or not writable exits 73 and is named with a remedy")
  func unusable() throws {
    let hub = try bench.startHub()
    let first = try bench.start("watch", "lamp", "--outbox", file)
    try #require(isInFile("bindout"), "\(first.output)")
    let second = try bench.run("set", "lamp.on=true", "--outbox", file)
    #expect(second.code == 73 && second.output.contains("in use by process \(first.pid)"), "\(second)")
    let full = bench.folder.appendingPathComponent("full").path
    let limited = try RunningProcess(
      "/bin/sh",
      ["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", Bench.program("bindpeer"), "set", "lamp.on=true"]
        + ["--outbox", full], hub: bench.hub)
    #expect(limited.end() == 73)
    #expect(limited.line { $0.contains("Cannot") && $0.contains(full) } != nil, "\(limited.output)")
    withExtendedLifetime(hub) {}
  }
}
