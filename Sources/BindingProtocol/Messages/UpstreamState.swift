/// Whether an edge reaches its upstream hub (§16): the message `upstream`.
package struct UpstreamState: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// Whether what the edge has is as new as the upstream hub's.
  package var isReached: Bool

  package init(session: SessionID, isReached: Bool) { (self.session, self.isReached) = (session, isReached) }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    isReached = try reader.flag("reached")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.flag(isReached)
  }
}
