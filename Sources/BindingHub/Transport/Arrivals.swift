import ZeroMQ

/// An accepted connection, by its socket too: a file descriptor may pass from a connection of one socket to one of the
/// other before the events of both are read.
struct AcceptedConnection: Hashable, Comparable {
  let descriptor: Int32
  let isPublish: Bool

  static func < (left: Self, right: Self) -> Bool {
    (left.descriptor, left.isPublish ? 1 : 0) < (right.descriptor, right.isPublish ? 1 : 0)
  }

  /// Ends it.
  /// - Returns: whether it was still there.
  @discardableResult
  func cut() -> Bool { ConnectionCut.shutdownConnection(fileDescriptor: descriptor) }
}

/// The tcp connections of a hub with keys of which nobody knows yet whose they are: from their arrival to the first
/// message that the authenticator's word comes with. A site that opens them by the thousand, or keeps them silent,
/// harms only itself.
struct Arrivals {
  private struct Arrival {
    let from: NetworkPrefix?
    var endsAt: UInt64
  }

  private var waiting: [AcceptedConnection: Arrival] = [:]
  private var counts: [NetworkPrefix: Int] = [:]
  private var nextEnd = UInt64.max
  /// The most of one site.
  let limit: Int

  /// Twice what a handshake may take: who has said nothing by then does not mean to.
  static let longestMilliseconds: UInt64 = 10_000

  init(limit: Int) { self.limit = limit }

  /// The number of connections that wait.
  var count: Int { waiting.count }

  /// A connection has arrived.
  /// - Returns: whether its site has room for it.
  mutating func add(_ connection: AcceptedConnection, from site: NetworkPrefix, at now: UInt64) -> Bool {
    remove(connection)
    guard counts[site, default: 0] < limit else { return false }
    counts[site, default: 0] += 1
    waiting[connection] = Arrival(from: site, endsAt: now + Arrivals.longestMilliseconds)
    nextEnd = min(nextEnd, now + Arrivals.longestMilliseconds)
    return true
  }

  /// A connection has been refused, and ends once it has had the time to read why.
  mutating func end(_ connection: AcceptedConnection, at end: UInt64) {
    var arrival = waiting[connection] ?? Arrival(from: nil, endsAt: end)
    arrival.endsAt = min(arrival.endsAt, end)
    waiting[connection] = arrival
    nextEnd = min(nextEnd, end)
  }

  /// A connection has ended, or it is known whose it is.
  mutating func remove(_ connection: AcceptedConnection) {
    guard let site = waiting.removeValue(forKey: connection)?.from else { return }
    counts[site, default: 1] -= 1
    if counts[site] == 0 { counts[site] = nil }
  }

  /// Those whose time is over; each is returned once.
  mutating func overdue(at now: UInt64) -> [AcceptedConnection] {
    guard nextEnd <= now else { return [] }
    let over = waiting.filter { $0.value.endsAt <= now }.keys.sorted()
    for connection in over { remove(connection) }
    nextEnd = waiting.values.lazy.map(\.endsAt).min() ?? .max
    return over
  }
}
