import BindbusTesting
import BindingPeer
import Foundation
import Logging
import Testing

/// Several hubs of one log: a hub and its edges.
@Suite("Peers with several hubs", .serialized)
struct FailoverTests {
  /// Its hub decides.
  private let bench: Bench
  private let hub: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
  }

  private func address(_ name: String) -> String { "ipc://\(bench.folder.path)/\(name).sock" }

  /// Starts an edge of the hub that names others.
  private func startEdge(_ name: String, siblings: [String]) throws -> RunningProcess {
    let named = siblings.flatMap { ["--sibling", address($0)] }
    let edge = try RunningProcess(
      Bench.program("bindhub"),
      ["serve", "--listen", address(name), "--upstream", bench.hub, "--exit-with-stdin", "--log", "error"] + named)
    try #require(edge.line { $0.hasPrefix("listening") } != nil, "\(edge.output)")
    return edge
  }

  /// Starts edges of which each names the others.
  private func startEdges(_ names: String...) throws -> [String: RunningProcess] {
    var edges: [String: RunningProcess] = [:]
    for name in names { edges[name] = try startEdge(name, siblings: names.filter { $0 != name }) }
    return edges
  }

  /// Runs a program to its end.
  @discardableResult
  private func run(_ program: String, _ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program(program), arguments)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  private static func peer(_ name: String, at hubs: String) throws -> Peer {
    try Peer(
      name: name, hub: HubLocation(hubs), logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  /// Four writers, which know this hub alone.
  private func write(at hub: String) -> CountingWriters { CountingWriters(at: Array(repeating: hub, count: 4)) }

  private func goesOn(_ writers: CountingWriters) async { #expect(await writers.goOn(by: 50)) }

  @Test("writers go on at the other hub when one is killed, and every acknowledged write is counted once")
  func killed() async throws {
    var edges = try startEdges("a", "b")
    // One address is enough: a welcome is followed by the others.
    let writers = write(at: address("a"))
    await goesOn(writers)
    for (dead, alive) in [("a", "b"), ("b", "a"), ("a", "b")] {
      edges[dead]?.send(SIGKILL)
      _ = edges[dead]?.end()
      await goesOn(writers)
      edges[dead] = try startEdge(dead, siblings: [alive])
      await goesOn(writers)
    }
    let acknowledged = try await writers.end()
    #expect(try bench.run("get", "counter.count", "--raw").output == "\(acknowledged)")
    withExtendedLifetime(edges) {}
  }

  @Test("a hub that is drained under load ends, no write is refused or lost, and each is counted once")
  func drained() async throws {
    var edges = try startEdges("a", "b")
    let writers = write(at: address("a"))
    await goesOn(writers)
    for (gone, stays) in [("a", "b"), ("b", "a"), ("a", "b")] {
      let drained = try run("bindhub", "drain", address(gone), "--json", "--within", "20s")
      #expect(drained.code == 0 && drained.output.contains(#""left":0"#), "\(drained.output)")
      #expect(edges[gone]?.end() == 0)
      await goesOn(writers)
      edges[gone] = try startEdge(gone, siblings: [stays])
    }
    let acknowledged = try await writers.end()
    #expect(try bench.run("get", "counter.count", "--raw").output == "\(acknowledged)")
    withExtendedLifetime(edges) {}
  }

  @Test("100 peers of a killed hub are back, each other hub with its share of them")
  func herd() async throws {
    let edges = try startEdges("a", "b", "c")
    let peers = try (0..<100).map { try FailoverTests.peer("p\($0)", at: address("a")) }
    // A peer that has a model has read what came before it: where the other hubs are.
    for peer in peers { _ = try await peer.share(Counter.self, id: "counter", on: .direct, timeout: .seconds(20)) }
    edges["a"]?.send(SIGKILL)
    _ = edges["a"]?.end()
    let (a, b, c) = (address("a"), address("b"), address("c"))
    #expect(
      await eventually(timeout: .seconds(20)) { peers.allSatisfy { $0.status.isLive && $0.status.hub != a } })
    let counts = [b, c].map { address in peers.filter { $0.status.hub == address }.count }
    // Of 100 coins, fewer than 25 on one side happen once in three million times.
    #expect(counts.allSatisfy { $0 >= 25 } && counts.reduce(0, +) == 100, "\(counts)")
    for peer in peers { await peer.close(flush: .zero) }
    withExtendedLifetime(edges) {}
  }

  @Test("SIGTERM sends the peers of a hub to another one, which watch names")
  func terminated() throws {
    let edges = try startEdges("a", "b")
    let watcher = try RunningProcess(Bench.program("bindpeer"), ["watch", "lamp", "--hub", address("a"), "--json"])
    #expect(try run("bindpeer", "set", "lamp.level=0.5", "--hub", address("b")).code == 0)
    #expect(watcher.line { $0.contains("0.5") } != nil, "\(watcher.output)")
    edges["a"]?.send(SIGTERM)
    #expect(edges["a"]?.end() == 0)
    #expect(watcher.line { $0 == "! another hub serves now: \(address("b"))" } != nil, "\(watcher.output)")
    #expect(try run("bindpeer", "set", "lamp.level=0.75", "--hub", address("b")).code == 0)
    #expect(watcher.line { $0.contains("0.75") } != nil, "\(watcher.output)")
    withExtendedLifetime(edges) {}
  }

  @Test("a command with several hubs is answered by the one that is there, however they are named")
  func commands() throws {
    let edge = try startEdge("a", siblings: [])
    let dead = address("dead")
    for _ in 0..<5 {
      #expect(try run("bindpeer", "set", "lamp.level=0.5", "--hub", "\(dead),\(address("a"))").code == 0)
      let read = try run("bindpeer", "get", "lamp.level", "--raw", "--hub", dead, "--hub", address("a"))
      #expect(read.code == 0 && read.output == "0.5", "\(read.output)")
    }
    let none = try run("bindpeer", "get", "lamp.level", "--hub", "\(dead),\(address("deader"))")
    #expect(none.code == 69 && none.output.contains("deader.sock"), "\(none.output)")
    withExtendedLifetime(edge) {}
  }

  @Test("a hub of another log is no refuge: a write waits, the reason is shown, and it is made once the log is back")
  func stranger() async throws {
    let other = try RunningProcess(
      Bench.program("bindhub"),
      ["serve", "--listen", address("other"), "--store", "memory", "--exit-with-stdin", "--log", "error"])
    try #require(other.line { $0.hasPrefix("listening") } != nil, "\(other.output)")
    let edge = try startEdge("a", siblings: ["other"])
    let peer = try FailoverTests.peer("writer", at: address("a"))
    let counter = try await peer.share(Counter.self, id: "counter", on: .direct, timeout: .seconds(20))
    edge.send(SIGKILL)
    _ = edge.end()
    let write = try counter.$count.add(1)
    #expect(await eventually(timeout: .seconds(20)) { peer.status.refusal?.contains("no hub of the same log") == true })
    #expect(peer.status.refusal?.contains(address("other")) == true && peer.counters.otherLogs > 0)
    #expect(await write.outcome(timeout: .milliseconds(100)) == nil)
    let again = try startEdge("a", siblings: [])
    guard case .committed? = await write.outcome(timeout: .seconds(20)) else { return #expect(Bool(false)) }
    #expect(try bench.run("get", "counter.count", "--raw").output == "1")
    #expect(try run("bindpeer", "get", "counter.count", "--hub", address("other")).code == 1)
    await peer.close()
    withExtendedLifetime((other, again)) {}
  }

  @Test("a hub without others refuses to be drained with 78 and the cure, and ends with --anyway")
  func alone() throws {
    let refused = try run("bindhub", "drain", "--hub", bench.hub)
    #expect(refused.code == 78 && refused.output.contains("bindhub serve --sibling ADDRESS"), "\(refused.output)")
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    #expect(try run("bindhub", "drain", bench.hub, "--anyway").code == 0)
    #expect(hub.end() == 0)
    #expect(try run("bindhub", "drain", bench.hub).code == 69)
  }

  @Test(
    "--sibling refuses what no peer can connect to, with 64",
    arguments: ["tcp://0.0.0.0:7877", "tcp://10.0.0.6:0", "ipc://relative.sock", "lamp"])
  func badSibling(_ sibling: String) throws {
    let refused = try run("bindhub", "serve", "--listen", address("x"), "--sibling", sibling)
    #expect(refused.code == 64 && refused.output.contains(sibling), "\(refused.output)")
  }

  @Test("33 siblings are refused with 64")
  func manySiblings() throws {
    let many = (1...33).map { "tcp://10.0.0.\($0):7877" }.joined(separator: ",")
    let refused = try run("bindhub", "serve", "--listen", address("x"), "--sibling", many)
    #expect(refused.code == 64 && refused.output.contains("at most 32"))
  }
}
