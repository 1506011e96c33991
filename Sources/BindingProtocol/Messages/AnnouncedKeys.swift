/// The keys of a hub that members reach over encrypted connections (§15.8): the message `keys`.
package struct AnnouncedKeys: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The key that the hub proves to have on new connections.
  package var present: [UInt8]
  /// The key that takes its place.
  package var next: Next?

  /// A key of the future.
  package struct Next: Hashable, Sendable {
    package var key: [UInt8]
    /// When it counts, by the hub's wall clock, milliseconds since 1970. For people: no rule compares clocks.
    package var moment: UInt64

    package init(key: [UInt8], moment: UInt64) { (self.key, self.moment) = (key, moment) }
  }

  /// The bytes of a key.
  package static let keyBytes = 32

  package init(session: SessionID, present: [UInt8], next: Next? = nil) {
    (self.session, self.present, self.next) = (session, present, next)
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    present = Array(try reader.bytes(AnnouncedKeys.keyBytes, "present"))
    switch try reader.count8("next", minimum: AnnouncedKeys.keyBytes + 8) {
    case 0: next = nil
    case 1:
      let key = Array(try reader.bytes(AnnouncedKeys.keyBytes, "next.key"))
      if key == present { throw reader.error("next.key", "is the present one") }
      next = Next(key: key, moment: try reader.u64("next.moment"))
    case let count: throw reader.error("next", "has \(count) keys; one at most can be next")
    }
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.raw(present)
    writer.count8(next == nil ? 0 : 1)
    guard let next else { return }
    writer.raw(next.key)
    writer.u64(next.moment)
  }
}
