import BindingProtocol
import Foundation
import Testing

@Suite("bindhub verify", .serialized)
struct VerifyTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func verify(_ arguments: String...) throws -> (code: Int32?, output: [String]) {
    let run = try RunningProcess(Bench.program("bindhub"), ["verify"] + arguments, hub: bench.hub)
    return (run.end(), run.output)
  }

  /// Starts a peer that stays and has the written values.
  private func watcher(of model: String) throws -> RunningProcess {
    let watcher = try bench.start("watch", model, "--json")
    try #require(watcher.line { $0.contains("\"\(model)\"") } != nil, "\(watcher.output)")
    return watcher
  }

  @Test("`verify` reports for each model that all peers are equal, and exits 0")
  func equal() throws {
    let hub = try bench.startHub()
    for model in ["lamp", "shop/a", "shop/b"] { #expect(try bench.run("set", "\(model).x=1").code == 0) }
    let watchers = try [watcher(of: "lamp"), watcher(of: "lamp"), watcher(of: "shop/a")]
    let (code, output) = try verify()
    #expect(code == 0)
    #expect(output.map { String($0.prefix { $0 != " " }) } == ["lamp", "shop/a", "shop/b"])
    #expect(output.map { $0.contains("2 equal") } == [true, false, false], "\(output)")
    #expect(try verify("shop/").output.count == 2)
    #expect(try verify("lamp", "shop/b").output.count == 2)
    withExtendedLifetime((hub, watchers)) {}
  }

  @Test("`verify --json` prints its documented fields")
  func json() throws {
    let hub = try bench.startHub()
    #expect(try bench.run("set", "lamp.x=1").code == 0)
    let peer = try watcher(of: "lamp")
    let (_, output) = try verify("--json")
    let line = try #require(JSONSerialization.jsonObject(with: Data(output.joined().utf8)) as? [String: Any])
    #expect(
      Set(line.keys) == ["model", "version", "digest", "equal", "different", "silent", "unable"])
    #expect(line["model"] as? String == "lamp" && line["version"] as? Int == 1 && line["equal"] as? Int == 1)
    withExtendedLifetime((hub, peer)) {}
  }

  @Test("`verify` names and counts a peer with a false digest and exits 1; others are not affected")
  func lie() throws {
    let hub = try bench.startHub()
    #expect(try bench.run("set", "lamp.x=1").code == 0)
    let honest = try watcher(of: "lamp")
    let liar = try RawPeer(bench.hub, name: "liar")
    try liar.hello(capabilities: [Capability.applied])
    try liar.join("lamp")
    let verify = try RunningProcess(Bench.program("bindhub"), ["verify"], hub: bench.hub)
    let epoch = try liar.nextPublished { if case .ask(let ask) = $1 { ask.epoch } else { nil } }
    try liar.send(
      .report([AppliedEntry(topic: liar.topic, epoch: epoch, version: 1, digest: 0xBAD, healed: 0)]))
    #expect(verify.end() == 1)
    #expect(verify.line { $0.contains("1 equal  1 different: liar-") } != nil, "\(verify.output)")
    try bench.wait("differences", atLeast: 1)
    #expect(hub.line { $0.contains("other values") && $0.contains("liar-") } != nil)
    #expect(try bench.run("set", "lamp.x=2").code == 0)
    #expect(honest.line { $0.contains("\"x\":2") } != nil)
  }

  @Test("a peer that healed itself is counted and named in the hub's log with its model")
  func healed() throws {
    let hub = try bench.startHub(["--log", "warning"])
    #expect(try bench.run("set", "lamp.x=1").code == 0)
    let peer = try RawPeer(bench.hub, name: "healed")
    try peer.hello(capabilities: [Capability.applied])
    try peer.join("lamp")
    try peer.send(.report([AppliedEntry(topic: peer.topic, epoch: 1, version: 1, digest: 0, healed: 1)]))
    try bench.wait("healedDivergences", atLeast: 1)
    #expect(
      hub.line { $0.contains("repaired its replica") && $0.contains("peer=healed-") && $0.contains("model=lamp") }
        != nil)
  }

  @Test("`verify` names silent peers with exit 75, and those without the capability without waiting")
  func silent() throws {
    let hub = try bench.startHub()
    #expect(try bench.run("set", "lamp.x=1").code == 0)
    let old = try RawPeer(bench.hub, name: "old")
    try old.hello()
    try old.join("lamp")
    let (code, output) = try verify()
    #expect(code == 0)
    #expect(output.first?.contains("0 equal  1 not supported: old-") == true, "\(output)")
    let mute = try RawPeer(bench.hub, name: "mute")
    try mute.hello(capabilities: [Capability.applied])
    try mute.join("lamp")
    let second = try verify("--timeout", "300")
    #expect(second.code == 75)
    #expect(second.output.contains { $0.contains("1 not answering: mute-") }, "\(second.output)")
    #expect(second.output.contains { $0.contains("until its lease ends") }, "\(second.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("`verify` completes while peers write as fast as they can")
  func underLoad() throws {
    let hub = try bench.startHub()
    let peers = try (0..<3).map { _ in try bench.start("pipe", "m") }
    for number in 1...50 { for peer in peers { peer.write("{\"x\":\(number)}") } }
    #expect(try bench.run("wait", "m.x=50", "--timeout", "20s").code == 0)
    var number = 50
    for _ in 0..<5 {
      // As much as the pipe holds: the peers still write while the hub compares.
      for _ in 0..<1_000 {
        number += 1
        for peer in peers { peer.write("{\"x\":\(number)}") }
      }
      let (code, output) = try verify("m")
      #expect(code == 0, "\(output)")
      #expect(output.first?.contains("3 equal") == true, "\(output)")
    }
    withExtendedLifetime((hub, peers)) {}
  }

  @Test("`verify` exits 69 without a hub, 64 for an invalid model and 1 for a missing one")
  func failures() throws {
    let (code, output) = try verify("--timeout", "200")
    #expect(code == 69)
    #expect(output.contains { $0.contains("bindhub serve") })
    #expect(try verify("a..b").code == 64)
    let hub = try bench.startHub()
    #expect(try verify("nothing").code == 1)
    withExtendedLifetime(hub) {}
  }
}
