import Foundation
import Testing

/// Dead-man switches between real processes: each end of the chain is killed or stopped in turn.
@Suite("Fields that expire, between real processes", .serialized)
struct ExpiryTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// Describes `drive`, whose speed holds for a second.
  private func describe() throws {
    let text = #"{"fields":{"speed":{"type":"number","default":0,"expires":1000},"name":{"type":"string"}}}"#
    try #require(try bench.run("set", "drive.@description:=\(text)").code == 0)
  }

  @Test("a value is held as long as its writer lives, and falls back after kill -9")
  func killedWriter() throws {
    let hub = try bench.startHub()
    try describe()
    #expect(try bench.run("hold", "drive.speed=0.4", "--for", "3s").code == 0, "three terms long")
    let watcher = try bench.start("watch", "drive.speed", "--json")
    let holder = try bench.start("hold", "drive.speed=0.7")
    try #require(watcher.line { $0.contains("0.7") } != nil, "\(holder.output)")
    holder.send(SIGKILL)
    let line = watcher.line { $0.contains(#""origin":"expiry"#) && $0.contains(#""speed":0}"#) }
    #expect(line != nil, "\(watcher.output)")
    #expect(try bench.run("get", "drive.speed", "--meta").output.contains("by expiry"))
    withExtendedLifetime(hub) {}
  }

  @Test("hold ends with 3 when somebody else sets the field, and sets nothing")
  func overtaken() throws {
    let hub = try bench.startHub()
    try describe()
    let holder = try bench.start("hold", "drive.speed=0.7")
    #expect(try bench.run("wait", "drive.speed=0.7", "--timeout", "20s").code == 0)
    #expect(try bench.run("set", "drive.speed=0.1").code == 0)
    #expect(holder.end() == 3, "\(holder.output)")
    #expect(try bench.run("wait", "drive.speed=0", "--timeout", "20s").code == 0)
    #expect(try bench.run("hold", "drive.name=x").code == 1, "it has no time limit")
    withExtendedLifetime(hub) {}
  }

  @Test("readers of a stopped hub show the default, and again what is committed when it goes on")
  func stoppedHub() throws {
    let hub = try bench.startHub()
    try describe()
    let watcher = try bench.start("watch", "drive.speed", "--json")
    let holder = try bench.start("hold", "drive.speed=0.7")
    try #require(watcher.line { $0.contains("0.7") } != nil, "\(holder.output)")
    hub.send(SIGSTOP)
    let line = watcher.line { $0.contains(#""expired":true"#) && $0.contains(#""speed":0}"#) }
    #expect(line != nil, "\(watcher.output)")
    hub.send(SIGCONT)
    // What is committed then, the held value or the fallback, depends on who is first.
    let back = watcher.line { $0.contains(#""expired":false"#) || $0.contains(#""origin":"expiry"#) }
    #expect(back != nil, "\(watcher.output) \(holder.output)")
  }

  @Test("a hub that is killed and restarted sets back what nobody renews, and brings back nothing that has expired")
  func restartedHub() throws {
    let first = try bench.startHub()
    try describe()
    try #require(try bench.run("set", "drive.speed=0.7").code == 0)
    first.send(SIGKILL)
    _ = first.end()
    let second = try bench.startHub()
    #expect(try bench.run("wait", "drive.speed=0", "--timeout", "20s").code == 0)
    second.send(SIGKILL)
    _ = second.end()
    let third = try bench.startHub()
    #expect(try bench.run("get", "drive.speed", "--raw").output == "0")
    withExtendedLifetime(third) {}
  }
}
