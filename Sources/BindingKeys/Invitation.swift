package import BindingProtocol
package import ZeroMQ

/// What a hub gives to somebody who is to join it: one line of text, to be passed on in confidence. Whoever uses it
/// first is the member; then it is worth nothing.
package struct Invitation: Hashable, Sendable {
  /// The hub's own name, under which the peer remembers it.
  package var hub: String
  /// The name of the new member.
  package var member: String
  /// Where the hub listens, best first.
  package var addresses: [HubAddress]
  /// The hub's public key: the peer talks to its owner only.
  package var hubKey: PublicKey
  /// The one-time key.
  package var secret: SecretKey
  /// Until when it can be used by the hub's clock, in seconds since 1970.
  package var until: Int64

  /// Makes an invitation.
  package init(
    hub: String, member: String, addresses: [HubAddress], hubKey: PublicKey, secret: SecretKey, until: Int64
  ) {
    self.hub = hub
    self.member = member
    self.addresses = addresses
    self.hubKey = hubKey
    self.secret = secret
    self.until = until
  }
}

extension Invitation {
  private static let prefix = "bindbus1:"

  /// The line: a prefix, and base64url of the content with its checksum. No letter of it means anything to a shell.
  package var line: String {
    var writer = WireWriter(reserving: 256)
    writer.text8(hub)
    writer.text8(member)
    writer.raw(hubKey.bytes)
    writer.raw(secret.bytes)
    writer.u64(UInt64(bitPattern: until))
    writer.count8(addresses.count)
    for address in addresses { writer.text8(address.description) }
    writer.u32(writer.withUnsafeBytes { Checksum.crc32c($0) })
    let bytes = writer.withUnsafeBytes { Array($0) }
    let base64 = Base64.encode(bytes).prefix { $0 != "=" }
    return Self.prefix + String(base64.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
  }

  /// Reads a line; blanks and line breaks that a mail program put into it do not matter.
  /// - Throws: `KeyError.noInvitation`.
  package init(line: String) throws(KeyError) {
    let text = line.filter { !$0.isWhitespace }
    guard text.hasPrefix(Self.prefix) else {
      throw .noInvitation(
        problem: text.hasPrefix("bindbus") ? "it is of another release" : "it does not begin with \(Self.prefix)")
    }
    let letters = text.dropFirst(Self.prefix.count).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    let padding = String(repeating: "=", count: (4 - letters.count % 4) % 4)
    guard let bytes = Base64.decode(String(letters) + padding), bytes.count > 4 else {
      throw .noInvitation(problem: "part of it is missing")
    }
    let content = Array(bytes.dropLast(4))
    let checksum = content.withUnsafeBytes { Checksum.crc32c($0) }
    guard (0..<4).allSatisfy({ bytes[content.count + $0] == UInt8(truncatingIfNeeded: checksum >> (8 * UInt32($0))) })
    else { throw .noInvitation(problem: "part of it is missing or altered") }
    let read: Result<Invitation, WireError> = content.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try Invitation(content: buffer) }
    }
    do throws(WireError) { self = try read.get() } catch { throw .noInvitation(problem: "\(error.problem)") }
  }

  private init(content: UnsafeRawBufferPointer) throws(WireError) {
    var reader = WireReader(content, message: "invitation")
    hub = try reader.text8("hub")
    member = try reader.text8("member")
    guard let hubKey = PublicKey(Array(try reader.bytes(32, "hub key"))),
      let secret = SecretKey(Array(try reader.bytes(32, "secret")))
    else { throw reader.error("keys", "it has no keys") }
    self.hubKey = hubKey
    self.secret = secret
    until = Int64(bitPattern: try reader.u64("until"))
    addresses = []
    for _ in 0..<(try reader.count8("addresses", minimum: 2)) {
      let text = try reader.text8("address")
      do throws(HubAddressError) { addresses.append(try HubAddress(text)) } catch {
        throw reader.error("address", "it has an address that is none")
      }
    }
    try reader.end()
    if addresses.isEmpty { throw reader.error("addresses", "it names no address") }
  }
}
