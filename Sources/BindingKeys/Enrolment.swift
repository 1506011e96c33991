package import BindingProtocol
package import ZeroMQ

/// What the holder of an invitation asks of the hub, over a connection with the one-time key (protocol.md §15.2); or
/// what a member asks, to get another key.
package struct Enrolment: Hashable, Sendable {
  /// The key that is to be a member's.
  package var key: PublicKey
  /// The machine that holds it, in its own words; at most 64 bytes.
  package var label: String

  /// Makes one; a longer label is cut.
  package init(key: PublicKey, label: String) {
    self.key = key
    self.label = Names.fittingPeer(label)
  }

  /// The hub's answer.
  package enum Answer: Hashable, Sendable {
    /// The key is a member's now, by this name.
    case enrolled(name: String)
    /// It is not; the text says why.
    case refused(String)
  }
}

extension Enrolment {
  package static let kind: UInt8 = 0x0F

  /// The frame that asks.
  package var frame: [UInt8] {
    var writer = WireWriter()
    writer.u8(Enrolment.kind)
    writer.u64(0)
    writer.u32(0)
    writer.raw(key.bytes)
    writer.text8(label)
    return writer.bytes
  }

  /// Reads the frame that asks.
  package init(frame: UnsafeRawBufferPointer) throws(WireError) {
    var reader = WireReader(frame, message: "enrol")
    guard try reader.u8("kind") == Enrolment.kind else {
      throw reader.error("kind", "is not enrol, and an invitation allows nothing else")
    }
    try reader.emptyHeader()
    guard let key = PublicKey(Array(try reader.bytes(32, "key"))) else { throw reader.error("key", "is none") }
    self.key = key
    let label = try reader.text8("label")
    guard label.utf8.count <= 64 else { throw reader.error("label", "has more than 64 bytes") }
    self.label = PrintedText.escaped(label)
    try reader.end()
  }
}

/// A member's request that a key be none of its keys any more (protocol.md §15.2).
package struct Retirement: Hashable, Sendable {
  package var key: PublicKey

  package init(key: PublicKey) { self.key = key }

  package static let kind: UInt8 = 0x0E

  /// The frame that asks.
  package var frame: [UInt8] {
    var writer = WireWriter()
    writer.u8(Retirement.kind)
    writer.u64(0)
    writer.u32(0)
    writer.raw(key.bytes)
    return writer.bytes
  }

  /// Reads the frame that asks.
  package init(frame: UnsafeRawBufferPointer) throws(WireError) {
    var reader = WireReader(frame, message: "retire")
    guard try reader.u8("kind") == Retirement.kind else { throw reader.error("kind", "is not retire") }
    try reader.emptyHeader()
    guard let key = PublicKey(Array(try reader.bytes(32, "key"))) else { throw reader.error("key", "is none") }
    self.key = key
    try reader.end()
  }
}

extension WireReader {
  /// What follows the kind in a message without a session.
  fileprivate mutating func emptyHeader() throws(WireError) {
    guard try u64("session") == 0, try u32("start") == 0 else { throw error("header", "must be 0") }
  }
}

extension Enrolment.Answer {
  private static let kind: UInt8 = 0x8F

  /// The frame that answers.
  package var frame: [UInt8] {
    var writer = WireWriter()
    writer.raw([0, 0, 0, 0])
    writer.u8(Enrolment.Answer.kind)
    writer.u32(0)
    switch self {
    case .enrolled(let name):
      writer.u8(1)
      writer.text8(name)
    case .refused(let text):
      writer.u8(0)
      writer.text8(text)
    }
    return writer.bytes
  }

  /// Reads the frame that answers.
  package init(frame: UnsafeRawBufferPointer) throws(WireError) {
    var reader = WireReader(frame, message: "enrolled")
    _ = try reader.u32("topic")
    guard try reader.u8("kind") == Enrolment.Answer.kind else { throw reader.error("kind", "is not enrolled") }
    _ = try reader.u32("start")
    switch try reader.u8("accepted") {
    case 1: self = .enrolled(name: try reader.text8("name"))
    case 0: self = .refused(try reader.text8("text"))
    default: throw reader.error("accepted", "is neither 0 nor 1")
    }
    try reader.end()
  }
}
