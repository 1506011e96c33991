import BindingProtocol

/// A peer's copy of a model: the committed values, by name and by the hub's numbers.
struct Replica: Sendable {
  struct Field: Sendable {
    let name: String
    let digestState: UInt64
    var value: FieldValue?
    var version: Version = 0
    var origin = Origin(tag: .none, name: "")
    var number: ProposalNumber = 0
    var time: UInt64 = 0
    /// The hub's number for it, as long as one start of the hub.
    var id: FieldID?
    /// What the observers were told last.
    var shown: FieldValue?
    var digest: UInt64 = 0
    var isDigestStale = false
    var isTouched = false

    mutating func commit(
      _ value: FieldValue?, version: Version, origin: Origin, number: ProposalNumber, time: UInt64
    ) {
      self.value = value
      self.version = version
      self.origin = origin
      self.number = number
      self.time = time
    }
  }

  /// Of this log, whatever life of it.
  var seen = SeenNumbers()
  private(set) var epoch: Epoch = 0
  private(set) var version: Version = 0
  private(set) var fields: [Field] = []
  private var index: [String: Int] = [:]
  /// The place of each of the hub's field ids, which live as long as one start of it.
  private var places: [Int] = []
  private var digestSum: UInt64 = 0
  private var stale: [Int] = []
  /// Fields whose committed value, or what lies over it, has changed since the last update.
  private var touched: [Int] = []

  /// How many of the hub's ids are known.
  var namesKnown: Int { places.count }

  func place(of name: String) -> Int? { index[name] }

  /// What is known of a field; nil if it has never been heard of.
  func field(_ name: String) -> Field? { place(of: name).map { fields[$0] } }

  /// What a writer sees of a field now.
  mutating func sight(of name: String) -> Pending.Seen {
    let place = placeMade(for: name)
    return .init(value: .value(fields[place].value), epoch: epoch, version: fields[place].version)
  }

  mutating func placeMade(for name: String) -> Int {
    if let place = index[name] { return place }
    var name = name
    let state = name.withUTF8 { Digest.state(ofName: UnsafeRawBufferPointer($0)) }
    index[name] = fields.count
    fields.append(Field(name: name, digestState: state))
    return fields.count - 1
  }

  /// Makes room for so many more names at once: growing step by step moves a million of them twenty times. Few are not
  /// worth it, and room that is made exactly each time would be slower.
  mutating func reserve(names: Int) {
    guard names >= max(fields.count, 1_024) else { return }
    fields.reserveCapacity(fields.count + names)
    index.reserveCapacity(fields.count + names)
    places.reserveCapacity(fields.count + names)
  }

  func place(ofID id: FieldID) -> Int? { Int(id) < places.count ? places[Int(id)] : nil }

  /// The hub's number for a field, where it is known.
  func id(of name: String) -> FieldID? { index[name].flatMap { fields[$0].id } }

  /// The hub was started anew: its ids are other ones.
  mutating func forgetIDs() {
    for place in places { fields[place].id = nil }
    places.removeAll()
  }

  /// Learns the names of ids from `first` on. False if some before it are unknown.
  mutating func learn(_ name: String, as id: FieldID) -> Bool {
    if Int(id) < places.count { return true }
    guard Int(id) == places.count else { return false }
    let place = placeMade(for: name)
    fields[place].id = id
    places.append(place)
    return true
  }

  /// Whether all fields that commits change have a name here, or bring one.
  func knowsFields(of commits: CommitCursor) throws(WireError) -> Bool {
    var known = places.count
    var names = commits.names
    while try names.next() {
      guard Int(names.id) <= known else { return false }
      known = max(known, Int(names.id) + 1)
    }
    var commits = commits
    while try commits.next() {
      // Repeats are not taken in.
      guard commits.version > version else { continue }
      var changes = commits.changes
      while try changes.next() {
        if Int(changes.field) >= known { return false }
      }
    }
    return true
  }

  /// The same for a catch-up, whose entries have to name who wrote them besides.
  func knowsFields(of chunks: [CatchupChunk]) -> Bool {
    var known = places.count
    for chunk in chunks where !chunk.names.names.isEmpty {
      guard Int(chunk.names.first) <= known else { return false }
      known = max(known, Int(chunk.names.first) + chunk.names.names.count)
    }
    return chunks.allSatisfy { chunk in
      chunk.entries.allSatisfy { Int($0.field) < known && Int($0.origin) < chunk.origins.count }
    }
  }

  mutating func touch(_ place: Int) {
    guard !fields[place].isTouched else { return }
    fields[place].isTouched = true
    touched.append(place)
  }

  mutating func commit(
    _ value: FieldValue?, at place: Int, version: Version, origin: Origin, number: ProposalNumber, time: UInt64
  ) {
    fields[place].commit(value, version: version, origin: origin, number: number, time: time)
    touch(place)
    guard !fields[place].isDigestStale else { return }
    fields[place].isDigestStale = true
    stale.append(place)
  }

  mutating func reach(_ version: Version, epoch: Epoch) {
    self.version = version
    self.epoch = epoch
  }

  /// A snapshot replaces: what it does not name has no value.
  /// - Parameter kept: whether it names the field at a place; false for those beyond.
  mutating func removeAll(but kept: [Bool]) {
    for place in fields.indices
    where !(place < kept.count && kept[place]) && (fields[place].value != nil || fields[place].version != 0) {
      commit(nil, at: place, version: 0, origin: Origin(tag: .none, name: ""), number: 0, time: 0)
    }
  }

  /// Takes the values of another replica in place of all that is here.
  mutating func become(_ other: Replica) {
    removeAll(but: [])
    for field in other.fields where field.value != nil {
      commit(
        field.value, at: placeMade(for: field.name), version: field.version, origin: field.origin, number: field.number,
        time: field.time)
    }
    seen = other.seen
    reach(other.version, epoch: other.epoch)
  }

  /// The digest of the committed values: only what changed since the last time is computed.
  mutating func digest() -> UInt64 {
    for place in stale {
      digestSum &-= fields[place].digest
      let field = fields[place]
      fields[place].digest =
        field.value.map { value in
          value.bytes.withUnsafeBytes { Digest.field(state: field.digestState, version: field.version, value: $0) }
        } ?? 0
      fields[place].isDigestStale = false
      digestSum &+= fields[place].digest
    }
    stale.removeAll(keepingCapacity: true)
    return digestSum
  }

  /// Notes what is shown now; nil if it is what was shown.
  mutating func show(_ value: FieldValue?, at place: Int) -> ShownChange? {
    let old = fields[place].shown
    guard old != value else { return nil }
    fields[place].shown = value
    return ShownChange(field: fields[place].name, old: old, new: value)
  }

  mutating func sortedTouched() -> [Int] {
    if touched.count > 1 { touched.sort() }
    return touched
  }

  mutating func forgetTouched() {
    for place in touched { fields[place].isTouched = false }
    touched.removeAll(keepingCapacity: true)
  }
}
