import BindingProtocol

/// One field of a model at the hub: what is stored of it, and where what has been decided but not yet stored is.
///
/// A deleted field keeps its slot and the version of its deletion, so that every delta within an epoch can be computed
/// and nothing that was deleted comes back. There may be millions, so what many share, and what few have, lies
/// elsewhere.
struct FieldSlot {
  let name: String
  /// Reused from value to value.
  fileprivate(set) var value: [UInt8] = []
  /// Who wrote it, and in which life of the log.
  fileprivate(set) var source = FieldSource.nobody
  /// The version of the stored value or deletion; 0: never written.
  fileprivate(set) var version: Version = 0
  fileprivate(set) var time: UInt64 = 0
  /// The last proposal that named it, counted by the sequencer: a field stands once in a proposal.
  var namedBy: UInt64 = 0
  fileprivate var digest: UInt64 = 0
  fileprivate(set) var number: ProposalNumber = 0
  /// Where what the pending batch has decided of it is, -1: nothing.
  fileprivate var decision: Int32 = -1
  fileprivate(set) var hasValue = false
  /// A default that yielded to nothing yet: a recovery may replace it.
  var isWeak = false
  fileprivate var isDigestStale = false

  fileprivate init(name: String) { self.name = name }

  /// What it is if the pending batch is stored. The value itself lies in the body that is being written.
  struct Decided {
    var version: Version = 0
    var hasValue = false
    var value = 0..<0
    /// Who wrote it, among the model's writers.
    var writer = 0
  }

  var origin: Origin { source.origin }
  /// The life of the log in which it was written.
  var epoch: Epoch { source.epoch }

  /// Where what is stored stands among the old lives of the log; nil if it was written in this one.
  func oldPoint(in epoch: Epoch) -> RecoveryPoint? {
    version > 0 && self.epoch != epoch ? RecoveryPoint(epoch: self.epoch, version: version) : nil
  }

  /// The stored value; nil if there is none.
  var fieldValue: FieldValue? { hasValue ? FieldValue(bytes: value) : nil }

  /// - Returns: whether the digest was that of the value before, until now.
  fileprivate mutating func store(
    _ newValue: UnsafeRawBufferPointer?, from source: FieldSource, version: Version, number: ProposalNumber,
    time: UInt64
  ) -> Bool {
    if let newValue, newValue.count == value.count {
      value.withUnsafeMutableBytes { $0.copyMemory(from: newValue) }
    } else {
      value.removeAll(keepingCapacity: newValue != nil)
      if let newValue { value.append(contentsOf: newValue) }
    }
    hasValue = newValue != nil
    self.version = version
    self.number = number
    self.time = time
    if self.source !== source { self.source = source }
    isWeak = false
    decision = -1
    defer { isDigestStale = true }
    return !isDigestStale
  }

  fileprivate func currentDigest() -> UInt64 {
    guard hasValue else { return 0 }
    var name = name
    let state = name.withUTF8 { Digest.state(ofName: UnsafeRawBufferPointer($0)) }
    return value.withUnsafeBytes { Digest.field(state: state, version: version, value: $0) }
  }
}

/// The fields of a model by their ids, found by name when a name is given.
struct FieldSlots {
  private(set) var slots: [FieldSlot] = []
  private var ids = NameTable()
  private var sources = FieldSources()
  /// What the pending batch has decided, in the order in which fields were first touched.
  private var decisions: [FieldSlot.Decided] = []
  /// Fields that have a value.
  private(set) var valueCount = 0
  /// The same as people count them: the description is none, unless there is nothing else.
  var countedValues: Int {
    let isDescribed = descriptionID != .max && slots[Int(descriptionID)].hasValue
    return isDescribed && valueCount > 1 ? valueCount - 1 : valueCount
  }
  private var storedDigest: UInt64 = 0
  private var stale: [FieldID] = []
  /// The field that holds the description; `FieldID.max` while nobody has named it.
  private(set) var descriptionID = FieldID.max

  var count: Int { slots.count }

  subscript(id: FieldID) -> FieldSlot {
    get { slots[Int(id)] }
    _modify { yield &slots[Int(id)] }
  }

  func id(of name: String) -> FieldID? {
    var name = name
    return name.withUTF8 { id(of: UnsafeRawBufferPointer($0)) }
  }

  func id(of name: UnsafeRawBufferPointer) -> FieldID? {
    find(name, NameTable.hash(name))
  }

  private func find(_ name: UnsafeRawBufferPointer, _ hash: Int) -> FieldID? {
    ids.find(hash) { slots[Int($0)].name.hasBytes(name) }
  }

  /// Makes room for so many fields while there are none.
  mutating func reserve(_ fields: Int) {
    slots.reserveCapacity(fields)
    ids.reserve(fields)
  }

  /// The id of a name, which gets the next one if it has none.
  mutating func introduce(_ name: UnsafeRawBufferPointer) -> FieldID {
    let hash = NameTable.hash(name)
    return find(name, hash) ?? add(String(decoding: name, as: UTF8.self), hash)
  }

  mutating func add(_ name: String) -> FieldID { add(name, name.nameHash) }

  private mutating func add(_ name: String, _ hash: Int) -> FieldID {
    let id = FieldID(slots.count)
    slots.append(FieldSlot(name: name))
    ids.add(id, hash) { slots[Int($0)].name.nameHash }
    if name == Names.description { descriptionID = id }
    return id
  }

  /// Takes back names whose batch was not stored.
  mutating func truncate(to count: Int) {
    while slots.count > count {
      let id = FieldID(slots.count - 1)
      ids.removeLast(id, hash: slots[Int(id)].name.nameHash)
      let slot = slots.removeLast()
      if slot.name == Names.description { descriptionID = .max }
    }
  }

  /// Leaves only these fields, in their order, and numbers them from 0 on.
  mutating func keep(_ kept: [FieldID]) {
    var left = FieldSlots()
    left.storedDigest = digest()
    left.reserve(kept.count)
    for id in kept {
      let slot = slots[Int(id)]
      left.slots[Int(left.add(slot.name))] = slot
      if slot.hasValue { left.valueCount += 1 }
    }
    left.sources = sources
    self = left
  }

  /// The source of what this writer wrote in this life of the log; the same object as long as a field has it.
  mutating func source(of origin: Origin, in epoch: Epoch) -> FieldSource { sources.of(origin, epoch) }

  /// Stores a value or, with nil, a deletion.
  mutating func store(
    _ value: UnsafeRawBufferPointer?, in id: FieldID, from source: FieldSource, version: Version,
    number: ProposalNumber, time: UInt64
  ) {
    let index = Int(id)
    if slots[index].hasValue != (value != nil) { valueCount += value == nil ? -1 : 1 }
    if slots[index].store(value, from: source, version: version, number: number, time: time) { stale.append(id) }
  }

  /// The digest of all stored values: only what changed since the last time is computed.
  mutating func digest() -> UInt64 {
    for id in stale {
      let index = Int(id)
      storedDigest &-= slots[index].digest
      slots[index].digest = slots[index].currentDigest()
      slots[index].isDigestStale = false
      storedDigest &+= slots[index].digest
    }
    stale.removeAll(keepingCapacity: stale.count <= ModelLog.roomKept)
    return storedDigest
  }

  // MARK: What the pending batch has decided

  /// What a field is if the pending batch is stored; the same as what is stored while the batch does not name it.
  func decided(_ id: FieldID) -> FieldSlot.Decided {
    let index = slots[Int(id)].decision
    guard index < 0 else { return decisions[Int(index)] }
    return FieldSlot.Decided(version: slots[Int(id)].version, hasValue: slots[Int(id)].hasValue)
  }

  /// Whether the pending batch changes a field.
  func isDecided(_ id: FieldID) -> Bool { slots[Int(id)].decision >= 0 }

  /// The version that a field has if the pending batch is stored.
  func decidedVersion(_ id: FieldID) -> Version {
    let index = slots[Int(id)].decision
    return index < 0 ? slots[Int(id)].version : decisions[Int(index)].version
  }

  /// Decides a field, or takes a decision back: a field that is as it is stored has none.
  mutating func decide(_ id: FieldID, _ decided: FieldSlot.Decided) {
    let index = Int(slots[Int(id)].decision)
    if decided.version == slots[Int(id)].version {
      slots[Int(id)].decision = -1
    } else if index >= 0 {
      decisions[index] = decided
    } else {
      slots[Int(id)].decision = Int32(decisions.count)
      decisions.append(decided)
    }
  }

  /// The pending batch is over, with no field still named by it.
  mutating func endDecisions() {
    decisions.removeAll(keepingCapacity: decisions.count <= ModelLog.roomKept)
  }

  mutating func forgetDecision(_ id: FieldID) { slots[Int(id)].decision = -1 }
}
