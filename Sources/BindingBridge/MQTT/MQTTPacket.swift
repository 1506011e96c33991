/// A message of MQTT 3.1.1 (OASIS standard, section 3), of those that the bridge sends or receives.
package enum MQTTPacket: Equatable, Sendable {
  case connect(MQTTConnect)
  /// The broker's answer; any code but 0 is a refusal.
  case connected(hasSession: Bool, code: UInt8)
  /// `id`: 0 for one that is not acknowledged (QoS 0).
  case publish(MQTTMessage, id: UInt16)
  case published(UInt16)
  /// Filters, all with QoS 1.
  case subscribe(UInt16, [String])
  /// The granted QoS of each filter, or 0x80 where the broker refuses it.
  case subscribed(UInt16, [UInt8])
  case unsubscribe(UInt16, [String])
  case unsubscribed(UInt16)
  case ping
  case pong
  case disconnect
}

/// What a client says first.
package struct MQTTConnect: Equatable, Sendable {
  /// By which the broker knows the client again.
  package var client: String
  /// Whether the broker keeps subscriptions, and messages for them, while the client is away.
  package var keepsSession = true
  /// Seconds without a message after which the broker ends the connection.
  package var keepAlive: UInt16 = 30
  package var user: String?
  package var password: String?
  /// What the broker publishes when the connection is lost.
  package var will: MQTTMessage?

  package init(client: String) { self.client = client }
}

/// A topic and what is published there.
package struct MQTTMessage: Equatable, Sendable {
  package var topic: String
  package var payload: [UInt8]
  /// The broker keeps it for those who subscribe later; an empty payload ends that. Of a received message: it was kept.
  package var isRetained = false
  /// It may have been sent before.
  package var isRepeated = false

  package init(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) {
    (self.topic, self.payload, self.isRetained) = (topic, payload, isRetained)
  }
}

// MARK: - Writing

extension MQTTPacket {
  /// The bytes on the wire.
  package var bytes: [UInt8] {
    var body: [UInt8] = []
    let head: UInt8
    switch self {
    case .connect(let connect):
      head = 0x10
      connect.write(to: &body)
    case .connected(let hasSession, let code):
      head = 0x20
      body = [hasSession ? 1 : 0, code]
    case .publish(let message, let id):
      head = 0x30 | (message.isRetained ? 1 : 0) | (id == 0 ? 0 : 2) | (message.isRepeated ? 8 : 0)
      MQTTPacket.write(message.topic, to: &body)
      if id != 0 { MQTTPacket.write(id, to: &body) }
      body += message.payload
    case .published(let id): (head, body) = (0x40, MQTTPacket.bytes(of: id))
    case .subscribe(let id, let filters):
      (head, body) = (0x82, MQTTPacket.bytes(of: id))
      for filter in filters {
        MQTTPacket.write(filter, to: &body)
        body.append(1)
      }
    case .subscribed(let id, let codes): (head, body) = (0x90, MQTTPacket.bytes(of: id) + codes)
    case .unsubscribe(let id, let filters):
      (head, body) = (0xA2, MQTTPacket.bytes(of: id))
      for filter in filters { MQTTPacket.write(filter, to: &body) }
    case .unsubscribed(let id): (head, body) = (0xB0, MQTTPacket.bytes(of: id))
    case .ping: head = 0xC0
    case .pong: head = 0xD0
    case .disconnect: head = 0xE0
    }
    return [head] + MQTTPacket.length(body.count) + body
  }

  /// Seven bits a byte, the lowest first (2.2.3).
  private static func length(_ count: Int) -> [UInt8] {
    var (left, bytes): (Int, [UInt8]) = (count, [])
    repeat {
      let low = UInt8(left & 0x7F)
      left >>= 7
      bytes.append(left > 0 ? low | 0x80 : low)
    } while left > 0
    return bytes
  }

  fileprivate static func bytes(of number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

  fileprivate static func write(_ number: UInt16, to body: inout [UInt8]) { body += bytes(of: number) }

  /// Longer texts than 65,535 bytes are cut; topics and names here are far below that.
  fileprivate static func write(_ text: String, to body: inout [UInt8]) {
    let bytes = Array(text.utf8.prefix(Int(UInt16.max)))
    write(UInt16(bytes.count), to: &body)
    body += bytes
  }
}

extension MQTTConnect {
  fileprivate func write(to body: inout [UInt8]) {
    MQTTPacket.write("MQTT", to: &body)
    var flags: UInt8 = keepsSession ? 0 : 2
    if let will { flags |= will.isRetained ? 0x2C : 0x0C }
    if user != nil { flags |= 0x80 }
    if password != nil { flags |= 0x40 }
    body += [4, flags]
    MQTTPacket.write(keepAlive, to: &body)
    MQTTPacket.write(client, to: &body)
    if let will {
      MQTTPacket.write(will.topic, to: &body)
      MQTTPacket.write(UInt16(clamping: will.payload.count), to: &body)
      body += will.payload.prefix(Int(UInt16.max))
    }
    for text in [user, password] { if let text { MQTTPacket.write(text, to: &body) } }
  }
}
