/// Which connection of one run of a peer a hello opens (protocol 4.1-8). What a lost connection still brings may arrive
/// after the hello of the next one: by these a hub tells an old hello of a run from that of another run, which takes
/// its place.
package struct Opening: Sendable, Hashable {
  /// Drawn by each run of a peer.
  package let run: UInt64
  /// The connections that the run has opened, this one included.
  package private(set) var count: UInt32 = 0

  private static let prefix = "opening:"
  private static let edgePrefix = "through:"

  package init(run: UInt64) { self.run = run }

  /// - Parameter capabilities: those of a hello; the first that is an opening counts.
  /// - Returns: nil if it names none.
  package init?(in capabilities: [String]) { self.init(in: capabilities, after: Opening.prefix) }

  private init?(in capabilities: [String], after prefix: String) {
    guard let text = capabilities.first(where: { $0.hasPrefix(prefix) }) else { return nil }
    let parts = text.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let run = UInt64(parts[0], radix: 16), let count = UInt32(parts[1]) else { return nil }
    (self.run, self.count) = (run, count)
  }

  /// Whether a capability is an opening.
  package static func isNamed(by capability: String) -> Bool { capability.hasPrefix(prefix) }

  /// Counts one more connection.
  package mutating func advance() { count &+= 1 }

  /// Whether the run has opened the other connection after this one.
  package func precedes(_ other: Opening) -> Bool { run == other.run && count < other.count }

  /// The capability.
  package var text: String { "\(Opening.prefix)\(String(run, radix: 16))-\(count)" }

  /// The connection of an edge over which a session for a peer is opened; nil if the hello names none.
  fileprivate static func ofEdge(in capabilities: [String]) -> Opening? {
    Opening(in: capabilities, after: edgePrefix)
  }

  /// The capability of a session that an edge opens for a peer over this connection.
  package var textOfEdge: String { "\(Opening.edgePrefix)\(String(run, radix: 16))-\(count)" }
}

/// Where a hello stands among those of one identity.
package struct HelloPlace: Sendable, Hashable {
  /// Which connection of its run the peer opens; nil: it does not say.
  package let opening: Opening?
  /// Which connection of its run the edge opens that says it for the peer; nil: none does.
  package let edge: Opening?
  /// Whether an edge says it without a word of the peer, which may have begun another run since.
  package let isAgain: Bool

  package init(of hello: Hello) {
    opening = Opening(in: hello.capabilities)
    edge = Opening.ofEdge(in: hello.capabilities)
    isAgain = hello.capabilities.contains(Capability.again)
  }

  /// Whether the peer, or the edge that speaks for it, has opened a connection after this one.
  /// - Parameter last: the place of the identity's last hello.
  package func isLate(after last: HelloPlace?) -> Bool {
    guard let before = last?.opening, let opening else { return false }
    if opening.precedes(before) { return true }
    guard opening == before, let edgeBefore = last?.edge, let edge else { return false }
    return edge.precedes(edgeBefore)
  }

  /// Whether it may not take the place of another session, which may be that of a later run.
  /// - Parameter present: the place of that session's hello.
  package func yields(to present: HelloPlace) -> Bool {
    guard isAgain, let other = present.opening, let opening else { return false }
    return opening.run != other.run
  }
}
