import BindingProtocol

/// The pages of models that a hub has asked for, each of which is put together from the pages of several shards. One
/// after the other.
struct ShardLists: Sendable {
  /// A page that is asked for.
  struct Query: Sendable {
    var prefix: String
    var after: String
    var limit: Int
  }
  private var waiting: [Query] = []
  /// The shards that are asked for a part of the first page, and have not answered.
  private(set) var asked: Set<UInt16> = []
  /// Those whose answers did not count: there is no page before they are asked again.
  private var dropped: Set<UInt16> = []
  private var isUnderWay = false
  /// How many answers of a shard are to an earlier try.
  private var stale: [UInt16: Int] = [:]
  private var found: [SharedHead] = []
  private var isLast = true
  /// Where the first part ends that is not its shard's last: after it other shards may have what this one has too.
  private var end: String?

  mutating func add(_ query: Query) { waiting.append(query) }

  /// Begins with the next page, if none is under way.
  /// - Parameter isAgain: whether the page under way is asked for anew.
  /// - Returns: it; `asked` are the shards to be asked.
  mutating func begin(isAgain: Bool, _ shards: (String) -> Set<UInt16>) -> Query? {
    guard let first = waiting.first, isAgain || !isUnderWay else { return nil }
    isUnderWay = true
    (asked, dropped) = (shards(first.prefix), [])
    (found, isLast, end) = ([], true, nil)
    return first
  }

  /// The map of shards has changed, or is to be read: the answers under way do not count.
  /// - Returns: whether a page is under way.
  mutating func restart() -> Bool {
    guard isUnderWay else { return false }
    for shard in asked { stale[shard, default: 0] += 1 }
    (asked, dropped) = ([], [])
    return true
  }

  /// A shard's answer does not count: its part is asked for again.
  mutating func drop(from shard: UInt16) {
    if let count = stale[shard], count > 0 {
      stale[shard] = count - 1
    } else if asked.remove(shard) != nil {
      dropped.insert(shard)
    }
  }

  /// What a part makes of the page.
  enum Taken {
    /// It lacks others.
    case partly
    case page(SharedEvent)
    /// Nothing in it counts, and there is more: it is asked for again, from there on.
    case goOn
  }

  /// Takes one shard's part.
  /// - Parameter isIn: whether a model is in that shard; it may have what is left of one that was moved.
  mutating func take(
    _ heads: [SharedHead], isLast: Bool, from shard: UInt16, _ isIn: (String) -> Bool
  ) -> Taken {
    if let count = stale[shard], count > 0 {
      stale[shard] = count - 1
      return .partly
    }
    guard asked.remove(shard) != nil, let query = waiting.first else { return .partly }
    for head in heads where isIn(head.model) { found.append(ShardRevision.here(head, of: shard)) }
    if !isLast {
      self.isLast = false
      if let last = heads.last?.model, end.map({ last.utf8.lexicographicallyPrecedes($0.utf8) }) ?? true { end = last }
    }
    guard asked.isEmpty, dropped.isEmpty else { return .partly }
    var page = found.sorted { $0.model.utf8.lexicographicallyPrecedes($1.model.utf8) }
    if let end { page.removeAll { end.utf8.lexicographicallyPrecedes($0.model.utf8) } }
    if page.isEmpty, let end {
      waiting[0].after = end
      return .goOn
    }
    let isWhole = self.isLast && page.count <= query.limit
    waiting.removeFirst()
    isUnderWay = false
    return .page(.listed(prefix: query.prefix, Array(page.prefix(query.limit)), isLast: isWhole))
  }
}

/// The syncs of a hub, each of which all shards have to answer. Their numbers are the router's own, for it syncs too.
struct ShardSyncs: Sendable {
  private var last: UInt64 = 0
  /// By own number: the hub's highest one that it answers.
  private var pending: [(own: UInt64, number: UInt64)] = []

  /// A number of its own, for the router.
  mutating func next() -> UInt64 {
    last += 1
    return last
  }

  /// The hub syncs.
  /// - Returns: the number for the shards.
  mutating func begin(_ number: UInt64) -> UInt64 {
    let own = next()
    pending.append((own, number))
    return own
  }

  /// The hub's syncs are to be answered by what shards say from now on.
  /// - Returns: the number for the shards; nil: none is without an answer.
  mutating func restart() -> UInt64? {
    guard let highest = pending.map(\.number).max() else { return nil }
    pending.removeAll()
    return begin(highest)
  }

  /// All shards have answered up to a number.
  /// - Returns: the hub's number that is answered; nil: none is.
  mutating func take(upTo own: UInt64) -> UInt64? {
    let done = pending.filter { $0.own <= own }
    pending.removeAll { $0.own <= own }
    return done.map(\.number).max()
  }
}
