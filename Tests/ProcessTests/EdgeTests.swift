import BindbusTesting
import BindingPeer
import Foundation
import Testing

@Suite("An edge between real processes", .serialized)
struct EdgeTests {
  /// Its hub is the upstream one.
  private let bench: Bench
  private let edge: String

  init() throws {
    bench = try Bench()
    edge = "ipc://\(bench.folder.path)/edge.sock"
  }

  private func startEdge(of upstream: String? = nil, _ more: [String] = []) throws -> RunningProcess {
    let running = try RunningProcess(
      Bench.program("bindhub"),
      ["serve", "--listen", edge, "--upstream", upstream ?? bench.hub, "--exit-with-stdin", "--log", "error"] + more)
    try #require(running.line { $0.hasPrefix("listening") } != nil, "\(running.output)")
    return running
  }

  /// Runs `bindpeer` at the edge to its end.
  @discardableResult
  private func run(_ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program("bindpeer"), arguments, hub: edge)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  private func status(_ more: String...) throws -> String {
    let running = try RunningProcess(
      Bench.program("bindhub"), ["status", "--timeout", "20000"] + more, hub: edge)
    _ = running.end()
    return running.output.joined(separator: "\n")
  }

  private func isCutOff() throws -> Bool { try status().contains("waiting(upstream)") }

  @Test("a value set at the edge is at the hub, and one set at the hub is at the edge, with equal versions")
  func bothWays() async throws {
    let hub = try bench.startHub()
    let near = try startEdge()
    #expect(try run("set", "lamp.level=0.5", "lamp.on=true").code == 0)
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.5")
    let watcher = try RunningProcess(Bench.program("bindpeer"), ["watch", "lamp", "--json"], hub: edge)
    #expect(try bench.run("set", "lamp.level=0.75").code == 0)
    #expect(watcher.line { $0.contains("0.75") } != nil, "\(watcher.output)")
    #expect(try run("get", "lamp", "--json", "--meta").output == bench.run("get", "lamp", "--json", "--meta").output)
    #expect(try run("rm", "lamp.on").code == 0)
    #expect(try bench.run("get", "lamp.on").code == 1)
    #expect(try run("ls").output == bench.run("ls").output)
    let history = try run("history", "lamp.level", "--json")
    #expect(history.code == 0 && history.output.contains("0.75"), "\(history)")
    #expect(try history.output == bench.run("history", "lamp.level", "--json").output)
    #expect(try status().contains("live, hub"))
    withExtendedLifetime((hub, near)) {}
  }

  @Test("ephemeral values and presence pass through the edge both ways, and end with their peers")
  func presence() async throws {
    let hub = try bench.startHub(["--lease", "1000"])
    let near = try startEdge(of: nil, ["--lease", "1000"])
    let ephemeral = ["pipe", "lamp", "--ephemeral", "--name"]
    let inside = try RunningProcess(Bench.program("bindpeer"), ephemeral + ["inside"], hub: edge)
    let outside = try RunningProcess(Bench.program("bindpeer"), ephemeral + ["outside"], hub: bench.hub)
    inside.write(#"{"lux":70,"@me":{"room":"attic"}}"#)
    outside.write(#"{"volt":5}"#)
    for (field, value) in [("lux", "70"), ("volt", "5")] {
      #expect(try run("wait", "lamp.\(field)=\(value)", "--ephemeral").code == 0)
      #expect(try bench.run("wait", "lamp.\(field)=\(value)", "--ephemeral").code == 0)
    }
    for peers in [try run("ls", "--peers", "lamp").output, try bench.run("ls", "--peers", "lamp").output] {
      #expect(peers.contains(#"{"room":"attic"}"#) && peers.contains("outside"), "\(peers)")
    }
    inside.send(SIGKILL)
    outside.send(SIGKILL)
    #expect(try await eventually { try bench.run("get", "lamp.lux", "--ephemeral").code == 1 })
    #expect(try await eventually { try run("get", "lamp.volt", "--ephemeral").code == 1 })
    withExtendedLifetime((hub, near)) {}
  }

  @Test("a cut-off edge answers reads, holds writes, says waiting(upstream), and gives nothing old as the latest")
  func cutOff() async throws {
    let hub = try bench.startHub()
    let near = try startEdge()
    try run("set", "lamp.level=0.5")
    #expect(try run("get", "lamp.level", "--latest", "--raw").output == "0.5")
    hub.send(SIGSTOP)
    #expect(try await eventually(timeout: .seconds(20)) { try isCutOff() })
    #expect(try status("--json").contains(#""state":"waiting""#))
    #expect(try run("get", "lamp.level", "--raw").output.hasSuffix("0.5"))
    let latest = try run("get", "lamp.level", "--latest", "--timeout", "1s")
    #expect(latest.code == 75 && latest.output.contains("waiting(upstream)") && !latest.output.contains("0.5"))
    let past = try run("history", "lamp", "--timeout", "1s")
    #expect(past.code == 75 && past.output.contains("waiting(upstream)"), "\(past.output)")
    #expect(try run("set", "lamp.level=0.6", "--timeout", "1s").code == 75)
    let writer = try RunningProcess(
      Bench.program("bindpeer"), ["set", "lamp.level=0.7", "--timeout", "30s"], hub: edge)
    hub.send(SIGCONT)
    #expect(writer.end() == 0, "\(writer.output)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.7")
    #expect(try run("get", "lamp.level", "--latest", "--raw").output == "0.7")
    withExtendedLifetime(near) {}
  }

  @Test("set at the hub, then get --latest at the edge, shows what was set, every time")
  func latestAfterSet() throws {
    let hub = try bench.startHub()
    let near = try startEdge()
    for level in 1...10 {
      #expect(try bench.run("set", "lamp.level=\(level)").code == 0)
      #expect(try run("get", "lamp.level", "--latest", "--raw").output == "\(level)")
    }
    withExtendedLifetime((hub, near)) {}
  }

  @Test("every acknowledged write is at the upstream hub once, whoever is killed or stopped", .timeLimit(.minutes(3)))
  func exactlyOnce() async throws {
    var hub = try bench.startHub()
    var near = try startEdge()
    let writers = CountingWriters(at: Array(repeating: edge, count: 4))
    func goesOn() async { #expect(await writers.goOn(by: 50)) }
    await goesOn()
    near.send(SIGKILL)
    _ = near.end()
    near = try startEdge()
    await goesOn()
    hub.send(SIGKILL)
    _ = hub.end()
    hub = try bench.startHub()
    await goesOn()
    near.send(SIGSTOP)
    // The stop is the fault itself: longer than silence is borne.
    sleep(5)
    near.send(SIGCONT)
    await goesOn()
    hub.send(SIGSTOP)
    sleep(5)
    hub.send(SIGCONT)
    await goesOn()
    let acknowledged = try await writers.end()
    #expect(try bench.run("get", "counter.count", "--raw").output == "\(acknowledged)")
    #expect(try run("get", "counter.count", "--latest", "--raw").output == "\(acknowledged)")
    withExtendedLifetime((hub, near)) {}
  }

  @Test("waiting until all have applied a version counts the peers at the edge, and names one that has not")
  func barrier() async throws {
    let hub = try bench.startHub()
    let near = try startEdge()
    let peers = [try Peer(name: "home", hub: HubLocation(bench.hub)), try Peer(name: "away", hub: HubLocation(edge))]
    var counters: [Counter] = []
    for peer in peers {
      counters.append(try await peer.share(Counter.self, id: "counter", on: .direct, timeout: .seconds(30)))
    }
    let watcher = try RunningProcess(Bench.program("bindpeer"), ["watch", "counter", "--wait-for-hub"], hub: edge)
    let first = try await counters[0].$count.add(1).committed
    // From then on it has joined the model.
    try #require(watcher.line { $0.contains("count") } != nil, "\(watcher.output)")
    for counter in counters { #expect(try await counter.applied(first, timeout: .seconds(30)) == 3) }
    watcher.send(SIGSTOP)
    let version = try await counters[1].$count.add(1).committed
    for counter in counters {
      let error = await #expect(throws: BarrierError.self) { try await counter.applied(version, timeout: .seconds(2)) }
      guard case .notApplied(let names, 2, 3)? = error else { throw try #require(error) }
      #expect(names.count == 1 && !["home", "away"].contains(names[0]), "\(names)")
    }
    watcher.send(SIGCONT)
    // Stopped for so long, it may begin another session, which no barrier before that waits for.
    for counter in counters {
      #expect(
        await eventually(timeout: .seconds(30)) { (try? await counter.applied(version, timeout: .seconds(5))) == 3 })
    }
    for peer in peers { await peer.close() }
    withExtendedLifetime((hub, near)) {}
  }

  @Test("an edge without its upstream hub serves nothing, says why, and begins once it answers")
  func startsAlone() async throws {
    let near = try startEdge()
    let refused = try run("get", "lamp.level", "--timeout", "1s")
    #expect(refused.code == 69 && refused.output.contains("waits for its upstream hub at \(bench.hub)"))
    #expect(try isCutOff())
    let hub = try bench.startHub()
    #expect(try run("set", "lamp.level=0.5", "--timeout", "10s").code == 0)
    withExtendedLifetime((hub, near)) {}
  }

  @Test("two edges of each other serve nothing and name the ring")
  func ring() async throws {
    let other = "ipc://\(bench.folder.path)/other.sock"
    let near = try startEdge(of: other)
    let far = try RunningProcess(
      Bench.program("bindhub"),
      ["serve", "--listen", other, "--upstream", edge, "--exit-with-stdin", "--log", "error"])
    #expect(try await eventually(timeout: .seconds(20)) { try status().contains("is the edge itself") })
    withExtendedLifetime((near, far)) {}
  }

  @Test("--upstream with a store of its own exits 64")
  func contradiction() throws {
    let edge = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--listen", edge, "--upstream", bench.hub, "--store", "memory"])
    #expect(edge.end() == 64 && edge.output.joined().contains("--upstream"))
  }
}
