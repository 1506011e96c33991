/// The connections whose users are known, by the names that have limits.
struct NamedConnections {
  /// A connection, and since when its user is known.
  struct Entry {
    let name: String
    /// Its number, if it is a request connection; nil: it subscribes.
    let request: ConnectionID?
    let since: UInt64
  }

  private var entries: [AcceptedConnection: Entry] = [:]
  private var byName: [String: Set<AcceptedConnection>] = [:]

  mutating func add(_ connection: AcceptedConnection, _ entry: Entry) {
    remove(connection)
    entries[connection] = entry
    byName[entry.name, default: []].insert(connection)
  }

  /// The connection has ended.
  mutating func remove(_ connection: AcceptedConnection) {
    guard let entry = entries.removeValue(forKey: connection) else { return }
    byName[entry.name]?.remove(connection)
    if byName[entry.name]?.isEmpty == true { byName[entry.name] = nil }
  }

  /// The connections of a name that request, or those that subscribe, in order of their descriptors.
  func all(of name: String, subscribing: Bool) -> [(connection: AcceptedConnection, entry: Entry)] {
    (byName[name] ?? []).filter { $0.isPublish == subscribing }.sorted().compactMap { connection in
      entries[connection].map { (connection, $0) }
    }
  }
}
