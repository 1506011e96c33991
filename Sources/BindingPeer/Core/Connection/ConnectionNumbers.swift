import BindingProtocol

/// The numbers by which a hub tells the connections of a peer apart.
struct ConnectionNumbers: Sendable {
  /// Of the session; drawn anew for each connection.
  private(set) var session: SessionID = 0
  /// Which connection of this run it is.
  private(set) var opening: Opening

  init(run: UInt64) { opening = Opening(run: run) }

  /// Begins the next connection.
  mutating func advance(using generator: inout SeededGenerator) {
    session = generator.nextNonZero()
    opening.advance()
  }
}
