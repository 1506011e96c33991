/// Which connection of one run of a peer a hello opens (protocol 4.1-8). What a lost connection still brings may arrive
/// after the hello of the next one: by these a hub tells an old hello of a run from that of another run, which takes
/// its place.
package struct Opening: Sendable, Hashable {
  /// Drawn by each run of a peer.
  package let run: UInt64
  /// The connections that the run has opened, this one included.
  package private(set) var count: UInt32 = 0

  private static let prefix = "opening:"

  package init(run: UInt64) { self.run = run }

  /// - Parameter capabilities: those of a hello; the first that is an opening counts.
  /// - Returns: nil if it names none.
  package init?(in capabilities: [String]) {
    guard let text = capabilities.first(where: Opening.isNamed) else { return nil }
    let parts = text.dropFirst(Opening.prefix.count).split(separator: "-", omittingEmptySubsequences: false)
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
}

extension Hello {
  /// Which connection of its run it opens; nil: it does not say.
  package var opening: Opening? { Opening(in: capabilities) }

  /// Whether its peer has opened a connection after the one of this hello.
  /// - Parameter last: what the last hello of the same identity named.
  package func isLate(after last: Opening?) -> Bool {
    guard let last, let opening else { return false }
    return opening.precedes(last)
  }
}
