import BindingPeer
import BindingProtocol
import Testing

@testable import BindingBridge

/// One bridge and what it sends, as text.
struct BridgeBench {
  var machine: MQTTBridgeMachine
  var sent: [String] = []
  var writes: [(number: Int, field: String, value: String)] = []
  var published: [UInt16] = []

  init(home: Bool = false) throws {
    let topics = try #require(BridgeTopics(root: "b"))
    machine = MQTTBridgeMachine(topics: topics, home: home ? HomeAssistant(prefix: "ha", topics: topics) : nil)
  }

  static func value(_ text: String) throws -> FieldValue { try FieldValue(text: text) }

  mutating func update(_ model: String, _ fields: [String: String?], _ description: String = "{}") throws {
    let fields = try fields.sorted { $0.key < $1.key }.map {
      MQTTBridgeMachine.Field($0.key, try $0.value.map(BridgeBench.value))
    }
    machine.update(model, fields, ModelDescription(try BridgeBench.value(description).json))
    look()
  }

  mutating func connect(hasSession: Bool = true, _ retained: [String: String] = [:]) {
    machine.connected(hasSession: hasSession, retained: retained.mapValues { Array($0.utf8) })
    look()
  }

  mutating func receive(
    _ topic: String, _ payload: String, id: UInt16 = 0, isRetained: Bool = false, again: Bool = false
  ) {
    var message = MQTTMessage(topic, Array(payload.utf8), isRetained: isRetained)
    message.isRepeated = again
    machine.received(.publish(message, id: id))
    look()
  }

  mutating func decide(_ write: Int, _ field: String = "level", problem: String? = nil) {
    machine.decided(write, "lamp", field, problem: problem)
    look()
  }

  /// The broker acknowledges all that was published.
  mutating func acknowledgeAll() {
    while !published.isEmpty {
      machine.received(.published(published.removeFirst()))
      look()
    }
  }

  private mutating func look() {
    for effect in machine.takeEffects() {
      switch effect {
      case .send(.publish(let message, let id)):
        let payload = String(decoding: message.payload, as: UTF8.self)
        sent.append("\(message.topic)=\(payload)\(message.isRetained ? "" : "!")")
        if id != 0 { published.append(id) }
      case .send(.published(let id)): sent.append("ack \(id)")
      case .send(.subscribe(_, let filters)): sent.append("sub \(filters.joined(separator: " "))")
      case .send(let packet): sent.append("\(packet)")
      case .write(let number, let model, let field, let value): writes.append((number, "\(model).\(field)", "\(value)"))
      }
    }
  }

  mutating func takeSent() -> [String] {
    defer { sent.removeAll() }
    return sent
  }
}

@Suite("The bridge to MQTT")
struct MQTTBridgeTests {
  private let described = #"{"fields":{"level":{"type":"number","min":0,"max":1},"on":{"type":"boolean"}}}"#

  @Test("what is committed is retained, of each field the newest value only, one message at a time")
  func states() throws {
    var bench = try BridgeBench()
    bench.connect()
    #expect(bench.takeSent() == ["b/availability=offline"])
    bench.machine.hub(isLive: true)
    try bench.update("lamp", ["level": "0.3", "name": #""desk lamp""#, "tags": #"["a"]"#])
    #expect(
      bench.takeSent() == [
        "sub b/lamp/+/set", "b/lamp/level/state=0.3", "b/lamp/name/state=desk lamp", #"b/lamp/tags/state=["a"]"#,
      ])
    for value in ["0.4", "0.5", "0.6"] { try bench.update("lamp", ["level": value]) }
    #expect(bench.takeSent() == [], "one is on its way")
    bench.acknowledgeAll()
    #expect(bench.takeSent() == ["b/availability=online", "b/lamp/level/state=0.6"])
    try bench.update("lamp", ["level": "0.6", "name": nil])
    #expect(bench.takeSent() == ["b/lamp/name/state="], "the same value is no message, a deleted one is not retained")
    bench.acknowledgeAll()
    let isSettled = bench.machine.isSettled
    #expect(isSettled)
  }

  @Test("after a lost connection only what the broker lacks is published")
  func differences() throws {
    var bench = try BridgeBench()
    bench.machine.hub(isLive: true)
    try bench.update("lamp", ["level": "0.3", "on": "true"])
    #expect(bench.takeSent() == [])
    bench.connect([
      "b/lamp/level/state": "0.3", "b/lamp/on/state": "false", "b/availability": "online", "b/old/x/state": "1",
    ])
    #expect(bench.takeSent() == ["sub b/lamp/+/set", "b/lamp/on/state=true"])
    bench.machine.complete()
    bench.acknowledgeAll()
    #expect(bench.takeSent() == ["b/old/x/state="], "states of what is no more go once all models are there")
    bench.machine.lost()
    try bench.update("lamp", ["level": "0.9"])
    bench.connect([
      "b/lamp/level/state": "0.3", "b/lamp/on/state": "true", "b/availability": "offline", "b/other/y/state": "2",
    ])
    #expect(
      bench.takeSent() == ["sub b/lamp/+/set", "b/availability=online", "b/lamp/level/state=0.9", "b/other/y/state="])
  }

  @Test("a value that comes is written, and acknowledged with its outcome, in order")
  func sets() throws {
    var bench = try BridgeBench()
    bench.connect()
    try bench.update("lamp", ["level": "0.3", "on": "true"], described)
    _ = bench.takeSent()
    bench.receive("b/lamp/level/set", "0.7", id: 1)
    bench.receive("b/lamp/on/set", "OFF", id: 2)
    bench.receive("b/lamp/level/set", " 1 ")
    #expect(bench.writes.map(\.value) == ["0.7", "false", "1"])
    bench.decide(2, "on")
    #expect(bench.takeSent() == [], "the one before it is not decided")
    bench.decide(1)
    #expect(bench.takeSent() == ["ack 1", "ack 2"])
    bench.decide(3)
    #expect(bench.takeSent() == [], "QoS 0 is not acknowledged")
  }

  @Test("a value that is not taken is answered with the reason and the state")
  func refused() throws {
    var bench = try BridgeBench()
    bench.connect(["b/availability": "offline"])
    let fields = #"{"fields":{"level":{"type":"number"},"key":{"type":"string","secret":true}}}"#
    try bench.update("lamp", ["level": "0.3", "on": "true", "key": #""x""#], fields)
    bench.acknowledgeAll()
    _ = bench.takeSent()
    bench.receive("b/lamp/level/set", "7", id: 1)
    bench.decide(1, problem: "7 is not in 0...1")
    #expect(bench.takeSent() == ["b/lamp/level/refused=7 is not in 0...1!", "ack 1", "b/lamp/level/state=0.3"])
    bench.acknowledgeAll()
    bench.receive("b/lamp/level/set", "much", id: 2)
    #expect(bench.takeSent() == ["b/lamp/level/refused=level: much is no number!", "ack 2", "b/lamp/level/state=0.3"])
    bench.receive("b/lamp/colour/set", "red", id: 3)
    bench.receive("b/lamp/key/set", "y", id: 4)
    bench.receive("b/fan/on/set", "true", id: 5)
    bench.receive("b/lamp/on/set", "maybe", id: 6)
    #expect(
      bench.takeSent() == [
        "b/lamp/colour/refused=lamp has no field colour!", "ack 3",
        "b/lamp/key/refused=lamp has no field key!", "ack 4", "b/fan/on/refused=fan has no field on!", "ack 5",
        "b/lamp/on/refused=on: maybe is neither true nor false!", "ack 6", "b/lamp/on/state=true",
      ])
    #expect(bench.writes.count == 1)
    #expect(bench.machine.counters.refused == 6)
  }

  @Test("what a broker had kept is nobody's wish now, and other topics are nothing")
  func kept() throws {
    var bench = try BridgeBench()
    bench.connect()
    try bench.update("lamp", ["level": "0.3"])
    _ = bench.takeSent()
    bench.receive("b/lamp/level/set", "0.7", id: 1, isRetained: true)
    let others = [
      "b/lamp/level", "c/lamp/level/set", "b//level/set", "b/lamp//set", "b/lamp/set", "b/lamp/level/set/x",
    ]
    for topic in others {
      bench.receive(topic, "1", id: 2)
    }
    #expect(bench.writes.isEmpty)
    #expect(bench.takeSent() == ["ack 1"] + Array(repeating: "ack 2", count: 6))
    #expect(bench.machine.counters.ignoredRetained == 1)
  }

  @Test("what comes again after a lost connection is not written twice")
  func repeated() throws {
    var bench = try BridgeBench()
    bench.connect()
    try bench.update("lamp", ["level": "0.3"])
    for (id, value) in [(1, "0.4"), (2, "0.5"), (3, "0.5")] as [(UInt16, String)] {
      bench.receive("b/lamp/level/set", value, id: id)
    }
    bench.decide(1)
    _ = bench.takeSent()
    bench.machine.lost()
    bench.decide(2)
    bench.connect()
    _ = bench.takeSent()
    bench.receive("b/lamp/level/set", "0.5", id: 2, again: true)
    #expect(bench.takeSent() == ["ack 2"], "it was decided meanwhile")
    bench.receive("b/lamp/level/set", "0.5", id: 3, again: true)
    #expect(bench.takeSent() == [])
    bench.decide(3)
    #expect(bench.takeSent() == ["ack 3"])
    bench.receive("b/lamp/level/set", "0.5", id: 4, again: true)
    #expect(bench.writes.map(\.number) == [1, 2, 3, 4], "what never came is new")
    #expect(bench.machine.counters.repeated == 2)
    // The acknowledgement of 3 was lost too.
    bench.machine.lost()
    bench.connect()
    _ = bench.takeSent()
    bench.receive("b/lamp/level/set", "0.5", id: 3, again: true)
    #expect(bench.takeSent() == ["ack 3"])
    #expect(bench.writes.count == 4)
    bench.receive("b/lamp/level/set", "0.6", id: 3, again: true)
    #expect(bench.writes.count == 5, "another value under a number that is in use again")
    // A broker that has forgotten the session repeats nothing.
    bench.machine.lost()
    bench.connect(hasSession: false)
    bench.receive("b/lamp/level/set", "0.6", id: 3, again: true)
    #expect(bench.writes.count == 6)
  }

  @Test("Home Assistant is told of each field by its description, and of its end")
  func homeAssistant() throws {
    var bench = try BridgeBench(home: true)
    bench.connect(["ha/switch/b_-gone/on/config": "{}"])
    #expect(!bench.machine.isOwn("ha/switch/other/on/config") && bench.machine.isOwn("ha/switch/b_-gone/on/config"))
    let fields =
      #"{"fields":{"level":{"type":"number","min":0,"max":1,"unit":"%","title":"Brightness"},"on":{"type":"boolean"},"#
      + #""mode":{"type":"string","choices":["a","b"]},"name":{"type":"string","maxLength":9},"temp":{"type":"number","#
      + #""unit":"°C"},"open":{"type":"boolean","readOnly":true},"tags":{"type":"array"},"cues":{"type":"object","#
      + #""policy":"list"},"key":{"type":"string","secret":true}}}"#
    try bench.update("shop/k-1", [:], fields)
    let announced = bench.takeSent().filter { $0.hasPrefix("ha/") }
    #expect(
      announced.map { $0.split(separator: "=")[0] }.sorted() == [
        "ha/binary_sensor/b_-shop_-k-1/open/config", "ha/number/b_-shop_-k-1/level/config",
        "ha/select/b_-shop_-k-1/mode/config", "ha/sensor/b_-shop_-k-1/temp/config", "ha/switch/b_-shop_-k-1/on/config",
        "ha/text/b_-shop_-k-1/name/config",
      ])
    let number = try #require(announced.first { $0.hasPrefix("ha/number") })
    for words in [
      #""name":"Brightness""#, #""command_topic":"b/shop/k-1/level/set""#, #""min":0,"max":1,"step":0.001"#,
      #""unit_of_measurement":"%""#, #""availability_topic":"b/availability""#, #""unique_id":"b_-shop_-k-1_level""#,
    ] { #expect(number.contains(words)) }
    #expect(announced.first { $0.hasPrefix("ha/sensor") }?.contains("command_topic") == false)
    bench.machine.complete()
    try bench.update("shop/k-1", [:], #"{"fields":{"on":{"type":"boolean"}}}"#)
    bench.acknowledgeAll()
    let ended = bench.takeSent().filter { $0.hasSuffix("=") }
    #expect(ended.contains("ha/switch/b_-gone/on/config=") && ended.contains("ha/number/b_-shop_-k-1/level/config="))
    #expect(ended.count == 6)
  }

  @Test("what belongs to another bridge at the broker is left alone")
  func others() throws {
    let topics = try #require(BridgeTopics(root: "b"))
    let home = HomeAssistant(prefix: "ha", topics: topics)
    let machine = MQTTBridgeMachine(topics: topics, models: ["shop/", "lamp"], home: home)
    for topic in ["b/availability", "b/shop/x/on/state", "b/lamp/on/state", "ha/switch/b_-shop_-a__b/on/config"] {
      #expect(machine.isOwn(topic), "\(topic)")
    }
    for topic in [
      "b/fan/on/state", "b/lamps/on/state", "b2/lamp/on/state", "b/lamp/on/set", "ha/switch/b_-fan/on/config",
      "ha/switch/b__x_-lamp/on/config", "ha/switch/b_lamp/on/config", "ha/switch/b_-lamp/on/other",
    ] { #expect(!machine.isOwn(topic), "\(topic)") }
  }

  @Test("a field that becomes secret is retained no more")
  func secret() throws {
    var bench = try BridgeBench()
    bench.connect(["b/availability": "offline"])
    try bench.update("lamp", ["key": #""x""#])
    bench.acknowledgeAll()
    _ = bench.takeSent()
    try bench.update("lamp", [:], #"{"fields":{"key":{"type":"string","secret":true}}}"#)
    #expect(bench.takeSent() == ["b/lamp/key/state="])
  }

  @Test("topics", arguments: ["", "a//b", "a/+", "#", "/a", "a/", "$SYS"])
  func badRoots(root: String) { #expect(BridgeTopics(root: root) == nil) }
}
