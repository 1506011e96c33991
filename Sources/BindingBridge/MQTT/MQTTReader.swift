/// Why what came is no MQTT.
package struct MQTTError: Error, Equatable, CustomStringConvertible {
  package let description: String
}

/// Cuts a stream of bytes into packets.
package struct MQTTReader {
  /// Beyond that a packet is refused: no field's value is that long.
  package static let longest = 1_048_576

  private var bytes: [UInt8] = []
  private var start = 0

  package init() {}

  package mutating func append(_ more: some Sequence<UInt8>) {
    if start > 0 { bytes.removeFirst(start) }
    start = 0
    bytes += more
  }

  /// The next packet; nil: it has not come whole.
  package mutating func next() throws(MQTTError) -> MQTTPacket? {
    var (length, place, shift) = (0, start + 1, 0)
    while true {
      guard place < bytes.count else { return nil }
      let byte = bytes[place]
      place += 1
      length |= Int(byte & 0x7F) << shift
      if byte < 0x80 { break }
      shift += 7
      guard shift <= 21 else { throw MQTTError(description: "the length of a packet has more than four bytes") }
    }
    guard length <= MQTTReader.longest else {
      throw MQTTError(description: "a packet of \(length) bytes; at most \(MQTTReader.longest) are read")
    }
    guard place + length <= bytes.count else { return nil }
    var body = MQTTBody(bytes[place..<place + length])
    let packet = try body.packet(bytes[start])
    start = place + length
    return packet
  }
}

/// What follows a packet's length.
private struct MQTTBody {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  mutating func packet(_ head: UInt8) throws(MQTTError) -> MQTTPacket {
    let packet: MQTTPacket
    switch (head >> 4, head & 0x0F) {
    case (1, 0): packet = .connect(try connect())
    case (2, 0): packet = .connected(hasSession: try byte() & 1 == 1, code: try byte())
    case (3, let flags): packet = try publish(flags)
    case (4, 0): packet = .published(try number())
    case (8, 2):
      let id = try number()
      var filters: [String] = []
      while !rest.isEmpty {
        filters.append(try text())
        _ = try byte()
      }
      packet = .subscribe(id, filters)
    case (9, 0): packet = .subscribed(try number(), takeRest())
    case (10, 2):
      let id = try number()
      var filters: [String] = []
      while !rest.isEmpty { filters.append(try text()) }
      packet = .unsubscribe(id, filters)
    case (11, 0): packet = .unsubscribed(try number())
    case (12, 0): packet = .ping
    case (13, 0): packet = .pong
    case (14, 0): packet = .disconnect
    default: throw MQTTError(description: "a packet that begins with \(head), which MQTT 3.1.1 does not have")
    }
    guard rest.isEmpty else { throw MQTTError(description: "\(rest.count) bytes behind the end of a packet") }
    return packet
  }

  private mutating func publish(_ flags: UInt8) throws(MQTTError) -> MQTTPacket {
    let quality = flags >> 1 & 3
    guard quality < 2 else {
      throw MQTTError(description: "a message of QoS \(quality), though none above 1 was subscribed to")
    }
    let topic = try text()
    let id = quality == 0 ? 0 : try number()
    guard quality == 0 || id != 0 else { throw MQTTError(description: "a message of QoS 1 with the number 0") }
    var message = MQTTMessage(topic, takeRest(), isRetained: flags & 1 == 1)
    message.isRepeated = flags & 8 == 8
    return .publish(message, id: id)
  }

  private mutating func connect() throws(MQTTError) -> MQTTConnect {
    guard try text() == "MQTT", try byte() == 4 else { throw MQTTError(description: "another version than 3.1.1") }
    let flags = try byte()
    let keepAlive = try number()
    var connect = MQTTConnect(client: try text())
    connect.keepAlive = keepAlive
    connect.keepsSession = flags & 2 == 0
    if flags & 4 != 0 {
      let topic = try text()
      connect.will = MQTTMessage(topic, try sized(), isRetained: flags & 0x20 != 0)
    }
    if flags & 0x80 != 0 { connect.user = try text() }
    if flags & 0x40 != 0 { connect.password = try text() }
    return connect
  }

  private mutating func byte() throws(MQTTError) -> UInt8 {
    guard let byte = rest.popFirst() else { throw MQTTError(description: "a packet ends before its end") }
    return byte
  }

  private mutating func number() throws(MQTTError) -> UInt16 { UInt16(try byte()) << 8 | UInt16(try byte()) }

  private mutating func sized() throws(MQTTError) -> [UInt8] {
    let count = Int(try number())
    guard count <= rest.count else { throw MQTTError(description: "a text ends before its end") }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  private mutating func text() throws(MQTTError) -> String {
    let bytes = try sized()
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw MQTTError(description: "a text that is not UTF-8")
    }
    return text
  }

  private mutating func takeRest() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }
}
