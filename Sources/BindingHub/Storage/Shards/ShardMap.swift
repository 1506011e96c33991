import BindingProtocol

/// Which models of a log are in which of its shards. A shard is a part of a log in an engine of its own; the log's
/// root, which also has the map, is shard 0 and has every model whose id begins with none of the prefixes.
///
/// The order of a log is that of each model, so its shards share nothing. A model's shard is that of the longest prefix
/// that its id begins with.
package struct ShardMap: Sendable, Hashable {
  /// A shard other than the root.
  package struct Shard: Sendable, Hashable {
    /// Its number, 1 to `maxShards`, which no other shard of this log ever has.
    package var number: UInt16
    /// Where it is, as its engine writes it.
    package var address: String

    package init(number: UInt16, address: String) { (self.number, self.address) = (number, address) }
  }
  /// The models below a prefix.
  package struct Entry: Sendable, Hashable {
    /// What their ids begin with; it ends with a slash.
    package var prefix: String
    /// The number of their shard.
    package var shard: UInt16
    /// The shard to which they are being moved: nothing is stored below the prefix meanwhile. nil: they stay.
    package var target: UInt16?

    package init(_ prefix: String, in shard: UInt16, movingTo target: UInt16? = nil) {
      (self.prefix, self.shard, self.target) = (prefix, shard, target)
    }
  }
  /// Where a model is.
  package struct Place: Sendable, Hashable {
    package var shard: UInt16
    package var target: UInt16?

    package init(shard: UInt16, target: UInt16? = nil) { (self.shard, self.target) = (shard, target) }
  }

  /// The number of the root.
  package static let root: UInt16 = 0
  package static let maxShards = 1_000
  package static let maxEntries = 10_000

  /// Rises with each change; 0: there are no shards but the root.
  package private(set) var version: UInt64
  /// By their numbers.
  package private(set) var shards: [Shard]
  /// By their prefixes, in the order of their bytes.
  package private(set) var entries: [Entry]
  /// By entry: that of the next shorter prefix which its prefix begins with.
  private var outer: [Int?]

  /// A map as it is stored.
  package init(version: UInt64 = 0, shards: [Shard] = [], entries: [Entry] = []) {
    self.version = version
    self.shards = shards.sorted { $0.number < $1.number }
    (self.entries, outer) = ([], [])
    arrange(entries)
  }

  private mutating func arrange(_ unordered: [Entry]) {
    entries = unordered.sorted { $0.prefix.utf8.lexicographicallyPrecedes($1.prefix.utf8) }
    outer = []
    for (index, entry) in entries.enumerated() {
      // The entry before, or one around that, is around this one.
      var candidate = index > 0 ? index - 1 : nil
      while let place = candidate, !entry.prefix.utf8.starts(with: entries[place].prefix.utf8) {
        candidate = outer[place]
      }
      outer.append(candidate)
    }
  }

  // MARK: Where models are

  /// Where a model is.
  package func place(of model: String) -> Place {
    guard let index = entry(around: model) else { return Place(shard: ShardMap.root) }
    return Place(shard: entries[index].shard, target: entries[index].target)
  }

  /// The entry of the longest prefix that a text begins with.
  private func entry(around text: String) -> Int? {
    guard !entries.isEmpty else { return nil }
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if text.utf8.lexicographicallyPrecedes(entries[middle].prefix.utf8) { high = middle } else { low = middle + 1 }
    }
    var candidate = low > 0 ? low - 1 : nil
    while let place = candidate, !text.utf8.starts(with: entries[place].prefix.utf8) { candidate = outer[place] }
    return candidate
  }

  /// The shards that may have models whose ids begin with a text.
  package func shards(below text: String) -> Set<UInt16> {
    var found: Set<UInt16> = [place(of: text).shard]
    for entry in entries where entry.prefix.utf8.starts(with: text.utf8) { found.insert(entry.shard) }
    return found
  }

  /// The shards that have models, and the root.
  package var used: Set<UInt16> { Set([ShardMap.root] + entries.map(\.shard)) }

  /// Where a shard is; nil: it is the root, or none.
  package func address(of shard: UInt16) -> String? { shards.first { $0.number == shard }?.address }

  /// The number of the shard at an address.
  package func shard(at address: String) -> UInt16? { shards.first { $0.address == address }?.number }

  // MARK: Moving

  /// Why a map cannot be changed so.
  package struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence that names the cure.
    package var description: String
  }

  /// Adds a shard.
  /// - Returns: its number.
  package mutating func add(_ address: String) throws(Refusal) -> UInt16 {
    if let known = shard(at: address) { return known }
    guard shards.count < ShardMap.maxShards else {
      throw Refusal(description: "a log has at most \(ShardMap.maxShards) shards")
    }
    let number = (shards.last?.number ?? ShardMap.root) + 1
    shards.append(Shard(number: number, address: address))
    version += 1
    return number
  }

  /// Takes a shard out that never had models; its number may be given again.
  package mutating func remove(_ shard: UInt16) {
    guard shard != ShardMap.root, address(of: shard) != nil,
      entries.allSatisfy({ $0.shard != shard && $0.target != shard })
    else { return }
    shards.removeAll { $0.number == shard }
    version += 1
  }

  /// Begins to move the models below a prefix, or goes on with that.
  package mutating func beginMove(_ prefix: String, to target: UInt16) throws(Refusal) {
    try ShardMap.check(prefix)
    guard target == ShardMap.root || address(of: target) != nil else {
      throw Refusal(description: "there is no shard \(target)")
    }
    if let other = entries.first(where: { $0.target != nil && $0.prefix != prefix && overlap($0.prefix, prefix) }),
      let end = other.target
    {
      throw Refusal(
        description: "\(other.prefix) is being moved to \(name(end)): finish that first, with  bindhub shards move "
          + "\(other.prefix) --to \(name(end))")
    }
    let index = entries.firstIndex { $0.prefix == prefix }
    let present = index.map { entries[$0] } ?? Entry(prefix, in: place(of: prefix).shard)
    if let end = present.target {
      guard end == target else {
        throw Refusal(
          description: "\(prefix) is being moved to \(name(end)): finish that first, or take it back with  bindhub "
            + "shards move \(prefix) --back")
      }
      return
    }
    guard present.shard != target else { throw Refusal(description: "\(prefix) is in \(name(target)) already") }
    guard index != nil || entries.count < ShardMap.maxEntries else {
      throw Refusal(description: "a log has at most \(ShardMap.maxEntries) prefixes in shards")
    }
    replace(Entry(prefix, in: present.shard, movingTo: target))
  }

  /// Ends a move: the models are in its target now.
  package mutating func finishMove(_ prefix: String) {
    guard let entry = entries.first(where: { $0.prefix == prefix }), let target = entry.target else { return }
    replace(Entry(prefix, in: target))
  }

  /// Ends a move: the models stay.
  package mutating func takeBack(_ prefix: String) {
    guard let entry = entries.first(where: { $0.prefix == prefix }), entry.target != nil else { return }
    replace(Entry(prefix, in: entry.shard))
  }

  private mutating func replace(_ entry: Entry) {
    version += 1
    var entries = entries.filter { $0.prefix != entry.prefix } + [entry]
    // A prefix whose models are where those around it are says nothing.
    if entry.target == nil {
      let around = ShardMap(entries: entries.filter { $0.prefix != entry.prefix })
      if around.place(of: entry.prefix) == Place(shard: entry.shard) { entries.removeLast() }
    }
    arrange(entries)
  }

  private func overlap(_ one: String, _ other: String) -> Bool { one.hasPrefix(other) || other.hasPrefix(one) }

  /// How people name a shard.
  package func name(_ shard: UInt16) -> String { address(of: shard) ?? (shard == ShardMap.root ? "root" : "?") }

  /// Throws unless models below this can be moved.
  package static func check(_ prefix: String) throws(Refusal) {
    guard prefix.hasSuffix("/"), prefix.utf8.count <= Names.maxModelBytes else {
      throw Refusal(description: "'\(prefix)' is no prefix of models: write it with a slash at its end, as  orders/")
    }
    do throws(WireError) { try Names.checkModel(String(prefix.dropLast())) } catch {
      throw Refusal(description: "'\(prefix)' is no prefix of models: \(error.problem)")
    }
  }
}
