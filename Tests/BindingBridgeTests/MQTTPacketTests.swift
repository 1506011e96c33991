import Simulation
import Testing

@testable import BindingBridge

@Suite("Packets of MQTT")
struct MQTTPacketTests {
  private static func connect() -> MQTTConnect {
    var connect = MQTTConnect(client: "bridge")
    (connect.keepsSession, connect.keepAlive, connect.user, connect.password) = (false, 10, "anna", "sesame")
    connect.will = MQTTMessage("b/availability", Array("offline".utf8), isRetained: true)
    return connect
  }

  private static let all: [MQTTPacket] = [
    .connect(connect()), .connect(MQTTConnect(client: "")), .connected(hasSession: true, code: 0),
    .connected(hasSession: false, code: 5), .publish(MQTTMessage("a/b", [1, 2, 3]), id: 0),
    .publish(MQTTMessage("ä", [], isRetained: true), id: 65_535), .published(7), .subscribe(1, ["a/+/c", "#"]),
    .subscribed(1, [1, 0x80]), .unsubscribe(2, ["a"]), .unsubscribed(2), .ping, .pong, .disconnect,
    .publish(MQTTMessage("long", Array(repeating: 7, count: 300_000)), id: 3),
  ]

  private func read(_ bytes: [UInt8]) throws -> [MQTTPacket] {
    var (reader, found) = (MQTTReader(), [MQTTPacket]())
    reader.append(bytes)
    while let packet = try reader.next() { found.append(packet) }
    return found
  }

  @Test("what is written is read back, in whatever pieces it comes")
  func roundTrip() throws {
    let bytes = MQTTPacketTests.all.flatMap(\.bytes)
    #expect(try read(bytes) == MQTTPacketTests.all)
    for size in [1, 2, 3, 7, 1_000] {
      var (reader, found, rest) = (MQTTReader(), [MQTTPacket](), bytes[...])
      // The long one alone would take long byte by byte.
      if size < 1_000 { rest = bytes.dropLast(300_011)[...] }
      while !rest.isEmpty {
        reader.append(rest.prefix(size))
        rest = rest.dropFirst(size)
        while let packet = try reader.next() { found.append(packet) }
      }
      #expect(found == Array(MQTTPacketTests.all.prefix(found.count)))
      #expect(found.count >= MQTTPacketTests.all.count - 1)
    }
  }

  @Test("the bytes are those of the standard")
  func standard() {
    #expect(
      MQTTPacket.connect(MQTTConnect(client: "c")).bytes == [
        0x10, 13, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 0, 0, 30, 0, 1, 0x63,
      ])
    #expect(
      MQTTPacket.publish(MQTTMessage("a/b", [0x31], isRetained: true), id: 10).bytes
        == [0x33, 8, 0, 3, 0x61, 0x2F, 0x62, 0, 10, 0x31])
    #expect(MQTTPacket.subscribe(10, ["a"]).bytes == [0x82, 6, 0, 10, 0, 1, 0x61, 1])
    let long = MQTTPacket.publish(MQTTMessage("", Array(repeating: 0, count: 126)), id: 0)
    #expect(long.bytes.prefix(3) == [0x30, 0x80, 1])
    #expect(MQTTPacket.ping.bytes == [0xC0, 0])
  }

  @Test(
    "what is no packet is refused with a reason",
    arguments: [
      ([0x00, 0], "does not have"), ([0xF0, 0], "does not have"), ([0x10, 0xFF, 0xFF, 0xFF, 0xFF, 1], "four bytes"),
      ([0x30, 0xFF, 0xFF, 0x7F], "at most"), ([0x34, 5, 0, 1, 0x61, 0, 1], "QoS 2"), ([0x36, 3, 0, 1, 0x61], "QoS 3"),
      ([0x32, 5, 0, 1, 0x61, 0, 0], "number 0"), ([0x30, 2, 0, 9], "before its end"), ([0x30, 1, 0], "before its end"),
      ([0x30, 3, 0, 1, 0xFF], "UTF-8"), ([0x40, 3, 0, 1, 0], "behind the end"), ([0x41, 2, 0, 1], "does not have"),
      ([0x20, 1, 0], "before its end"),
    ] as [([UInt8], String)])
  func bad(bytes: [UInt8], words: String) {
    #expect { try read(bytes) } throws: { "\($0)".contains(words) }
  }

  @Test("no bytes crash the reader")
  func anyBytes() {
    var (chance, refused) = (Chance(seed: 7), 0)
    for _ in 0..<3_000 {
      var bytes = MQTTPacketTests.all[chance.below(MQTTPacketTests.all.count - 1)].bytes
      for _ in 0...chance.below(3) { bytes[chance.below(bytes.count)] = UInt8(chance.below(256)) }
      if (try? read(bytes)) == nil { refused += 1 }
    }
    #expect(refused > 100)
  }

  @Test(
    "addresses of brokers",
    arguments: [
      ("mqtt://house", "mqtt://house:1883"), ("mqtts://anna@house", "mqtts://anna@house:8883"),
      ("mqtt://[::1]:1884/", "mqtt://[::1]:1884"), ("mqtt://[::1]", "mqtt://[::1]:1883"),
    ])
  func addresses(text: String, whole: String) throws { #expect(try MQTTAddress(text).description == whole) }

  @Test(
    "what is no address of a broker is refused with its cure",
    arguments: [
      "house", "http://house", "mqtt://", "mqtt://house:0", "mqtt://house:x", "mqtt://a:b@house", "mqtt://a/b",
    ])
  func badAddresses(text: String) { #expect(throws: MQTTError.self) { try MQTTAddress(text) } }
}
