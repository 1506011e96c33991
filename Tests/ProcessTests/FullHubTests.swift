import BindingHub
import BindingProtocol
import Foundation
import Logging
import Testing

/// A hub in this process with two permanent models, `lamp` and `door`, and no room for a third.
@Suite("Commands at a hub without room for another model", .serialized)
final class FullHubTests {
  private let bench: Bench
  private let hub: Hub

  init() throws {
    bench = try Bench()
    var configuration = Hub.Configuration()
    configuration.listen = [try HubAddress(bench.hub)]
    configuration.limits.maxModels = 2
    configuration.limits.maxSessions = 4
    hub = try Hub(
      configuration: configuration, logger: Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
    for model in ["lamp", "door"] { #expect(try bench.run("set", "\(model).on=true").code == 0) }
  }

  deinit { hub.stop() }

  private static let reason = "full: there are 2 models; maxModels is 2. Delete unused models, and leave them"

  @Test(
    "a command that needs a new model at a full hub exits 3 with the reason, without waiting",
    arguments: [
      ["set", "full.x=1"], ["get", "full"], ["get", "full.x"], ["pipe", "full"], ["describe", "full"],
      ["rm", "full", "--model"], ["reset", "full"],
    ])
  func refused(arguments: [String]) throws {
    // After the timeout the exit code and the message would differ.
    let running = try RunningProcess(Bench.program("bindpeer"), arguments + ["--timeout", "60s"], hub: bench.hub)
    #expect(running.end() == 3)
    #expect(running.output.contains("refused: \(Self.reason)"), "\(running.output)")
  }

  @Test("`bench` and `ls --peers` at a full hub exit 3 with the reason", arguments: ["bench", "ls"])
  func others(verb: String) throws {
    let arguments = verb == "bench" ? ["bench", "--for", "1s"] : ["ls", "--peers", "full"]
    let running = try RunningProcess(Bench.program("bindpeer"), arguments + ["--timeout", "60s"], hub: bench.hub)
    #expect(running.end() == 3)
    #expect(running.line { $0.contains(": there are 2 models; maxModels is 2.") } != nil, "\(running.output)")
  }

  @Test("a hub without room for another session is not reported as absent: exit 69 and its reason")
  func sessions() throws {
    let watchers = try (0..<4).map { _ in try bench.start("watch", "lamp") }
    for watcher in watchers { #expect(watcher.line { $0.contains("on true") } != nil, "\(watcher.output)") }
    let (code, output) = try bench.run("get", "lamp", "--timeout", "2s")
    #expect(code == 69)
    #expect(
      output.contains("does not accept this peer now: 4 sessions are open; maxSessions is 4. Close some."), "\(output)")
    #expect(!output.contains("Start one"))
  }

  @Test("`set` of two models writes neither when the hub has no room for one")
  func two() throws {
    let (code, output) = try bench.run("set", "lamp.on=false", "full.x=1", "--timeout", "60s")
    #expect(code == 3 && output.contains(Self.reason), "\(output)")
    #expect(try bench.run("get", "lamp.on", "--raw").output == "true")
  }

  @Test("`watch` and `wait` at a full hub print the reason and wait for room", arguments: ["watch", "wait"])
  func waiting(verb: String) throws {
    let running = try bench.start(verb, verb == "wait" ? "full.x=1" : "full", "--timeout", "60s")
    #expect(running.line { $0 == "\(Self.reason). Waiting anyway." } != nil, "\(running.output)")
    #expect(try bench.run("rm", "door", "--model").code == 0)
    // The deleted model is removed when its last peer has left; the other is requested again every few seconds.
    var code: Int32? = 3
    let end = Date(timeIntervalSinceNow: 20)
    while code == 3, Date() < end { code = try bench.run("set", "full.x=1").code }
    #expect(code == 0)
    if verb == "wait" {
      #expect(running.end() == 0)
    } else {
      #expect(running.line { $0.contains("  full  ") && $0.contains("x 1") } != nil, "\(running.output)")
    }
    #expect(running.output.filter { $0.contains("maxModels") }.count == 1, "\(running.output)")
  }
}
