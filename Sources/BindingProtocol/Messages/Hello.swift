/// The first message of a peer on a connection (§4.1).
package struct Hello: WireContent, Hashable {
  /// The only supported encoding of values.
  package static let json = "json"

  /// The lowest protocol number that the peer supports.
  package var lowest: UInt8
  /// The highest protocol number that the peer supports.
  package var highest: UInt8
  /// The identity that the peer claims.
  package var identity: Identity
  /// Whether this identity has been welcomed before.
  package var isResuming: Bool
  /// How long the hub keeps a silent session; 0: the hub's default.
  package var leaseMilliseconds: UInt32
  /// The encoding of values: `json`.
  package var encoding: String
  /// The peer's capabilities.
  package var capabilities: [String]

  package init(
    lowest: UInt8 = 0, highest: UInt8 = 0, identity: Identity, isResuming: Bool = false,
    leaseMilliseconds: UInt32 = 0, encoding: String = Hello.json, capabilities: [String] = []
  ) {
    self.lowest = lowest
    self.highest = highest
    self.identity = identity
    self.isResuming = isResuming
    self.leaseMilliseconds = leaseMilliseconds
    self.encoding = encoding
    self.capabilities = capabilities
  }

  package init(from reader: inout WireReader) throws(WireError) {
    lowest = try reader.u8("lowest")
    highest = try reader.u8("highest")
    if lowest > highest { throw reader.error("highest", "is \(highest), below lowest, \(lowest)") }
    identity = try reader.identity()
    isResuming = try reader.bits("flags", known: 1) == 1
    leaseMilliseconds = try reader.u32("leaseMs")
    encoding = try reader.text8("encoding")
    if encoding != Hello.json {
      throw reader.error(
        "encoding", "is \"\(PrintedText.escaped(encoding, limit: 40))\"; only \(Hello.json) is supported")
    }
    capabilities = try reader.texts("capabilities")
  }

  package func write(to writer: inout WireWriter) {
    writer.u8(lowest)
    writer.u8(highest)
    writer.identity(identity)
    writer.flag(isResuming)
    writer.u32(leaseMilliseconds)
    writer.text8(encoding)
    writer.texts(capabilities)
  }
}
