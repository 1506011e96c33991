import BindingProtocol

/// A peer's copy of a model: the committed values, by field name and by the hub's field ids.
struct Replica: Sendable {
  struct Field: Sendable {
    let name: String
    let digestState: UInt64
    var value: FieldValue?
    var version: Version = 0
    var origin = Origin(tag: .none, name: "")
    var number: ProposalNumber = 0
    var time: UInt64 = 0
    /// The hub's id for the field, valid for one start of the hub.
    var id: FieldID?
    /// The value of which observers were last notified.
    var shown: FieldValue?
    var digest: UInt64 = 0
    var isDigestStale = false
    var isTouched = false
    var isUnkept = false
    /// Whether it is an element of a list.
    var isElement = false

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

  /// The numbers seen in this log, in any of its epochs.
  var seen = SeenNumbers()
  private(set) var epoch: Epoch = 0
  private(set) var version: Version = 0
  private(set) var fields: [Field] = []
  private var indexByName: [String: Int] = [:]
  /// The index of each field by the hub's field id; ids are valid for one start of the hub.
  private var indexByID: [Int] = []
  private var digestSum: UInt64 = 0
  private var stale: [Int] = []
  /// Fields whose committed value or overlay has changed since the last update.
  private var touched: [Int] = []
  /// Whether the changed fields are gathered for a keep file, and those since the last record in it.
  var keepsChanges = false
  private var unkept: [Int] = []
  private var unkeptSeen = SeenNumbers()

  /// The index of the field that holds the description; nil: it is unknown.
  private(set) var descriptionIndex: Int?

  /// Whether the description has changed since the last update.
  var isDescriptionTouched: Bool { descriptionIndex.map { fields[$0].isTouched } ?? false }

  /// The number of field ids that are known.
  var namesKnown: Int { indexByID.count }

  func index(of name: String) -> Int? { indexByName[name] }

  /// The record of a field; nil if the field is unknown.
  func field(_ name: String) -> Field? { index(of: name).map { fields[$0] } }

  /// The committed value and version of a field, as a writer sees them now.
  mutating func sight(of name: String) -> Pending.Seen {
    let index = findOrInsert(name)
    return .init(value: .value(fields[index].value), epoch: epoch, version: fields[index].version)
  }

  mutating func findOrInsert(_ name: String) -> Int {
    if let index = indexByName[name] { return index }
    var name = name
    let (state, isElement) = name.withUTF8 { name in
      (Digest.state(ofName: UnsafeRawBufferPointer(name)), Names.separator(in: UnsafeRawBufferPointer(name)) != nil)
    }
    indexByName[name] = fields.count
    if name == Names.description { descriptionIndex = fields.count }
    fields.append(Field(name: name, digestState: state, isElement: isElement))
    return fields.count - 1
  }

  /// Reserves room for N more names: growing step by step moves a million of them twenty times. Few names are not
  /// worth it, and an exact reservation each time would be slower.
  mutating func reserve(names: Int) {
    guard names >= max(fields.count, 1_024) else { return }
    fields.reserveCapacity(fields.count + names)
    indexByName.reserveCapacity(fields.count + names)
    indexByID.reserveCapacity(fields.count + names)
  }

  func index(ofID id: FieldID) -> Int? { Int(id) < indexByID.count ? indexByID[Int(id)] : nil }

  /// The hub's id for a field, if it is known.
  func id(of name: String) -> FieldID? { indexByName[name].flatMap { fields[$0].id } }

  /// The hub was restarted: its field ids are void.
  mutating func forgetIDs() {
    for index in indexByID { fields[index].id = nil }
    indexByID.removeAll()
  }

  /// Learns the name of a field id; ids come in order. Returns false if an id before it is unknown.
  mutating func learn(_ name: String, as id: FieldID) -> Bool {
    if Int(id) < indexByID.count { return true }
    guard Int(id) == indexByID.count else { return false }
    let index = findOrInsert(name)
    fields[index].id = id
    indexByID.append(index)
    return true
  }

  /// Whether each field that the commits change is known here, or named by them.
  func knowsFields(of commits: CommitCursor) throws(WireError) -> Bool {
    var known = indexByID.count
    var names = commits.names
    while try names.next() {
      guard Int(names.id) <= known else { return false }
      known = max(known, Int(names.id) + 1)
    }
    var commits = commits
    while try commits.next() {
      // Repeats are not applied.
      guard commits.version > version else { continue }
      var changes = commits.changes
      while try changes.next() {
        if Int(changes.field) >= known { return false }
      }
    }
    return true
  }

  /// Whether each field of a catch-up is known here or named by it, and each entry has an origin.
  func knowsFields(of chunks: [CatchupChunk]) -> Bool {
    var known = indexByID.count
    for chunk in chunks where !chunk.names.names.isEmpty {
      guard Int(chunk.names.first) <= known else { return false }
      known = max(known, Int(chunk.names.first) + chunk.names.names.count)
    }
    return chunks.allSatisfy { chunk in
      chunk.entries.allSatisfy { Int($0.field) < known && Int($0.origin) < chunk.origins.count }
    }
  }

  mutating func touch(_ index: Int) {
    guard !fields[index].isTouched else { return }
    fields[index].isTouched = true
    touched.append(index)
  }

  mutating func commit(
    _ value: FieldValue?, at index: Int, version: Version, origin: Origin, number: ProposalNumber, time: UInt64
  ) {
    fields[index].commit(value, version: version, origin: origin, number: number, time: time)
    touch(index)
    if keepsChanges, !fields[index].isUnkept {
      fields[index].isUnkept = true
      unkept.append(index)
    }
    guard !fields[index].isDigestStale else { return }
    fields[index].isDigestStale = true
    stale.append(index)
  }

  mutating func reach(_ version: Version, epoch: Epoch) {
    self.version = version
    self.epoch = epoch
  }

  /// A commit of this writer was seen, with this number.
  mutating func see(_ tag: Tag, _ number: ProposalNumber) {
    seen.record(tag, number)
    if keepsChanges { unkeptSeen.record(tag, number) }
  }

  /// The numbers seen since the last call, or the latest of all.
  mutating func takeUnkeptSeen(all: Bool) -> [SeenNumber] {
    defer { unkeptSeen = SeenNumbers() }
    return all ? seen.latest() : unkeptSeen.latest()
  }

  /// Whether fields have changed that the keep file lacks.
  var hasUnkept: Bool { !unkept.isEmpty }

  /// The fields that have changed since the last call, or all that were ever written.
  mutating func takeUnkept(all: Bool) -> [CommittedField] {
    let indices = all ? fields.indices.filter { fields[$0].version > 0 } : unkept
    for index in unkept { fields[index].isUnkept = false }
    unkept.removeAll(keepingCapacity: true)
    return indices.map { index in
      let field = fields[index]
      return CommittedField(
        name: field.name, value: field.value, version: field.version, origin: field.origin, number: field.number,
        time: field.time)
    }
  }

  /// Removes the values that a snapshot does not name.
  /// - Parameter kept: whether the snapshot names the field at an index; it names none beyond the array.
  mutating func removeAll(but kept: [Bool]) {
    for index in fields.indices
    where !(index < kept.count && kept[index]) && (fields[index].value != nil || fields[index].version != 0) {
      commit(nil, at: index, version: 0, origin: Origin(tag: .none, name: ""), number: 0, time: 0)
    }
  }

  /// Replaces everything here by the values of another replica.
  mutating func become(_ other: Replica) {
    removeAll(but: [])
    for field in other.fields where field.value != nil {
      commit(
        field.value, at: findOrInsert(field.name), version: field.version, origin: field.origin, number: field.number,
        time: field.time)
    }
    seen = other.seen
    reach(other.version, epoch: other.epoch)
  }

  /// The digest of the committed values. Only the fields changed since the last call are hashed.
  mutating func digest() -> UInt64 {
    for index in stale {
      digestSum &-= fields[index].digest
      let field = fields[index]
      fields[index].digest =
        field.value.map { value in
          value.bytes.withUnsafeBytes { Digest.field(state: field.digestState, version: field.version, value: $0) }
        } ?? 0
      fields[index].isDigestStale = false
      digestSum &+= fields[index].digest
    }
    stale.removeAll(keepingCapacity: true)
    return digestSum
  }

  /// Records the value that is shown now; returns nil if it is the same as before.
  mutating func show(_ value: FieldValue?, at index: Int) -> ShownChange? {
    let old = fields[index].shown
    guard old != value else { return nil }
    fields[index].shown = value
    return ShownChange(field: fields[index].name, old: old, new: value)
  }

  mutating func sortedTouched() -> [Int] {
    if touched.count > 1 { touched.sort() }
    return touched
  }

  mutating func forgetTouched() {
    for index in touched { fields[index].isTouched = false }
    touched.removeAll(keepingCapacity: true)
  }
}
