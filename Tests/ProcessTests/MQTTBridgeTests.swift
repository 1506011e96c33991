import BindingPeer
import BindingProtocol
import Foundation
import Testing

@testable import BindingBridge

/// `bindbridge mqtt` between a hub and mosquitto, all of them processes.
@Suite(
  "`bindbridge mqtt`", .serialized, .enabled(if: Mosquitto.program != nil, "scripts/setup --mqtt installs mosquitto"))
struct MQTTBridgeTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func bridge(_ broker: Mosquitto, _ more: String...) throws -> RunningProcess {
    try bridge("mqtt://127.0.0.1:\(broker.port)", more)
  }

  private func bridge(_ address: String, _ more: [String]) throws -> RunningProcess {
    try RunningProcess(Bench.program("bindbridge"), ["mqtt", "--broker", address] + more, hub: bench.hub)
  }

  @Test("values go both ways, and what is refused is answered with the reason and the state")
  func bothWays() async throws {
    let broker = try Mosquitto(in: bench.folder)
    let hub = try bench.startHub(["--store", "memory"])
    defer { hub.send(SIGKILL) }
    let described = #"lamp.@description:={"fields":{"level":{"type":"number","min":0,"max":1}}}"#
    try #require(bench.run("set", described, "lamp.level=0.3").code == 0)
    let bridge = try bridge(broker, "--home-assistant")
    try #require(bridge.line { $0.hasSuffix("connected") } != nil, "\(bridge.output)")
    let user = MQTTUser(try broker.address)
    defer { user.end() }
    user.publish("bindbus/lamp/level/set", "0.5")
    #expect(await user.hasSeen("bindbus/lamp/level/state=0.5"), "\(user.seen)")
    #expect(try bench.run("set", "lamp.level=0.7").code == 0)
    #expect(await user.hasSeen("bindbus/lamp/level/state=0.7"), "\(user.seen)")
    user.publish("bindbus/lamp/level/set", "7")
    #expect(await user.hasSeen("bindbus/lamp/level/refused=refused: lamp.level: 7 is not in 0...1"), "\(user.seen)")
    #expect(await user.hasSeenTwice("bindbus/lamp/level/state=0.7"), "\(user.seen)")
    // A new model, and the end of a field.
    #expect(try bench.run("set", "shop/fan.on=true").code == 0)
    #expect(await user.hasSeen("bindbus/shop/fan/on/state=true"), "\(user.seen)")
    #expect(try bench.run("rm", "shop/fan.on").code == 0)
    #expect(await user.hasSeen("bindbus/shop/fan/on/state="), "\(user.seen)")
    var retained = try await broker.retained()
    #expect(retained["bindbus/availability"] == "online" && retained["bindbus/lamp/level/state"] == "0.7")
    #expect(retained["homeassistant/number/bindbus_-lamp/level/config"] != nil)
    #expect(retained["bindbus/shop/fan/on/state"] == nil)
    // What is gone when the bridge is back is retained no more.
    bridge.send(SIGTERM)
    #expect(bridge.end() == 0)
    #expect(try await broker.retained()["bindbus/availability"] == "offline")
    #expect(try bench.run("rm", "lamp.level").code == 0)
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    let second = try self.bridge(broker)
    #expect(await user.hasSeen("bindbus/lamp/level/state="), "\(second.output)")
    #expect(await user.hasSeen("bindbus/lamp/on/state=true"), "\(second.output)")
    second.send(SIGKILL)
    #expect(await user.hasSeen("bindbus/availability=offline"), "the broker says so when the bridge is killed")
    retained = try await broker.retained()
    #expect(retained["bindbus/lamp/on/state"] == "true")
  }

  @Test("a value that came while the bridge was killed is written when it is back")
  func whileAway() async throws {
    let broker = try Mosquitto(in: bench.folder)
    let hub = try bench.startHub(["--store", "memory"])
    defer { hub.send(SIGKILL) }
    try #require(bench.run("set", "lamp.level=1").code == 0)
    let first = try bridge(broker)
    let user = MQTTUser(try broker.address)
    defer { user.end() }
    try #require(await user.hasSeen("bindbus/lamp/level/state=1") || first.line { $0.hasSuffix("connected") } != nil)
    user.publish("bindbus/lamp/level/set", "2")
    try #require(bench.run("wait", "lamp.level=2", "--timeout", "20s").code == 0, "\(first.output)")
    first.send(SIGKILL)
    _ = first.end()
    user.publish("bindbus/lamp/level/set", "3")
    let second = try bridge(broker)
    #expect(try bench.run("wait", "lamp.level=3", "--timeout", "20s").code == 0, "\(second.output)")
  }

  @Test("both sides are equal after random writes on both, with every process killed at random, and then silent")
  func chaos() async throws {
    let broker = try Mosquitto(in: bench.folder)
    let store = ["--store", bench.folder.appendingPathComponent("hub.db").path]
    var hub = try bench.startHub(store)
    var running = try bridge(broker)
    let peer = try Peer(name: "other", hub: HubLocation(bench.hub))
    let lamp = try peer.model("lamp")
    let fields = (0..<5).map { "f\($0)" }
    func write(_ field: String, _ number: Int) throws {
      let operation = FieldOperation(.set, field, FieldValue(json: .integer(Int64(number))))
      try lamp.write(Proposal(operations: [operation]))
    }
    for field in fields { try write(field, 0) }
    try #require(running.line { $0.hasSuffix("connected") } != nil, "\(running.output)")
    let user = MQTTUser(try broker.address)
    defer { user.end() }
    let writes = ProcessInfo.processInfo.environment["BINDBUS_WRITES"].flatMap(Int.init) ?? 400
    for number in 1...writes {
      let field = fields[Int.random(in: 0..<5)]
      if Bool.random() {
        user.publish("bindbus/lamp/\(field)/set", "\(number)")
      } else {
        try write(field, -number)
      }
      try await Task.sleep(for: .milliseconds(5))
      guard number % max(writes / 8, 60) == 0 else { continue }
      switch number / max(writes / 8, 60) % 3 {
      case 0:
        hub.send(SIGKILL)
        _ = hub.end()
        hub = try bench.startHub(store)
      case 1:
        broker.kill()
        try broker.start()
      default:
        running.send(SIGKILL)
        _ = running.end()
        running = try bridge(broker)
      }
    }
    let end = ContinuousClock.now + .seconds(60)
    var (here, there): ([String: String], [String: String]) = ([:], ["": ""])
    while here != there || user.unacknowledged > 0, ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(200))
      let retained = try await broker.retained().filter { $0.key.hasSuffix("/state") }
      there = Dictionary(uniqueKeysWithValues: retained.map { ($0.key, $0.value) })
      let values = lamp.status.unconfirmed == 0 ? lamp.values : [:]
      here = Dictionary(uniqueKeysWithValues: values.map { ("bindbus/lamp/\($0.key)/state", $0.value.description) })
    }
    #expect(here == there, "\(running.output.suffix(5))")
    #expect(here.count == 5)
    let before = user.seen.count
    try await Task.sleep(for: .seconds(1))
    #expect(user.seen.count == before, "\(user.seen.suffix(5))")
    await peer.close()
  }

  @Test("a broker with users and TLS lets the bridge in with its password, and says why it does not")
  func access() async throws {
    let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("BindingWebTests/Certificates")
    // The hash of `sesame`, as mosquitto_passwd makes it.
    let users = bench.folder.appendingPathComponent("users")
    let made = try RunningProcess("/usr/bin/env", ["mosquitto_passwd", "-b", "-c", users.path, "anna", "sesame"])
    try #require(made.end() == 0, "\(made.output)")
    let broker = try Mosquitto(
      in: bench.folder,
      [
        "password_file \(users.path)", "certfile \(certificates.appendingPathComponent("hall.pem").path)",
        "keyfile \(certificates.appendingPathComponent("hall.key").path)",
      ])
    let hub = try bench.startHub(["--store", "memory"])
    defer { hub.send(SIGKILL) }
    let (right, wrong) = (bench.folder.appendingPathComponent("right"), bench.folder.appendingPathComponent("wrong"))
    try Data("sesame\n".utf8).write(to: right)
    try Data("open\n".utf8).write(to: wrong)
    for file in [right, wrong] { chmod(file.path, 0o600) }
    let authorities = certificates.appendingPathComponent("issuer.pem").path
    let address = "mqtts://anna@127.0.0.1:\(broker.port)"
    let inside = try bridge(address, ["--password-file", right.path, "--authorities", authorities])
    #expect(inside.line { $0.hasSuffix("connected") } != nil, "\(inside.output)")
    let outside = try bridge(
      address, ["--password-file", wrong.path, "--authorities", authorities, "--client", "other"])
    let reason = outside.line { $0.contains("check --password-file") || $0.contains("does not let") }
    #expect(reason != nil, "\(outside.output)")
    let stranger = try bridge(address, ["--password-file", right.path, "--client", "third"])
    #expect(stranger.line { $0.contains("no broker") } != nil, "a certificate of an unknown issuer: \(stranger.output)")
    chmod(wrong.path, 0o644)
    let open = try bridge(address, ["--password-file", wrong.path])
    #expect(open.end() == 78)
    #expect(open.output.contains { $0.contains("chmod 600") })
  }

  @Test(
    "what is wrong on the command line is named",
    arguments: [
      ["--broker", "house"], ["--broker", "mqtt://a:b@house"], ["--topics", "a/#"], ["--topics", ""], ["no model!"],
    ])
  func usage(arguments: [String]) throws {
    let running = try RunningProcess(Bench.program("bindbridge"), ["mqtt"] + arguments)
    #expect(running.end() == 64, "\(running.output)")
  }
}

extension MQTTUser {
  /// Waits until a message has come a second time.
  fileprivate func hasSeenTwice(_ wanted: String) async -> Bool {
    let end = ContinuousClock.now + .seconds(20)
    while seen.count(where: { $0 == wanted }) < 2 {
      if ContinuousClock.now > end { return false }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return true
  }
}
