/// The other hubs of the same log, to which a peer goes when this one ends (§4.6): the message `hubs`.
package struct OtherHubs: WireContent, Hashable {
  /// The receiving session, or the one that a hello asked for in vain.
  package var session: SessionID
  /// Where they listen, at most `most`, in an order that means nothing.
  package var addresses: [HubAddress]

  /// The most addresses of one message.
  package static let most = 32

  package init(session: SessionID, addresses: [HubAddress]) {
    (self.session, self.addresses) = (session, addresses)
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    let count = try reader.count8("hubs", minimum: 1)
    guard count <= OtherHubs.most else {
      throw reader.error("hubs", "has \(count) addresses; at most \(OtherHubs.most) are allowed")
    }
    addresses = []
    for _ in 0..<count {
      guard let address = try? HubAddress(reader.text8("hubs")), address.isReachable else {
        throw reader.error("hubs", "has a text that is no address to connect to")
      }
      addresses.append(address)
    }
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.count8(addresses.count)
    for address in addresses { writer.text8(address.description) }
  }
}

/// Asks the hub to send its peers to the other hubs of its log and then to end (§4.6): the message `drain`.
package struct DrainRequest: WireContent, Hashable {
  /// When the hub ends even if peers are left, from now on.
  package var withinMilliseconds: UInt32
  /// Whether a hub without others ends too, whose peers then have nowhere to go.
  package var isAnyway: Bool

  package init(withinMilliseconds: UInt32, isAnyway: Bool) {
    (self.withinMilliseconds, self.isAnyway) = (withinMilliseconds, isAnyway)
  }

  package init(from reader: inout WireReader) throws(WireError) {
    withinMilliseconds = try reader.u32("withinMs")
    isAnyway = try reader.flag("anyway")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(withinMilliseconds)
    writer.flag(isAnyway)
  }
}
