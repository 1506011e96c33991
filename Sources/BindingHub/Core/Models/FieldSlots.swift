package import BindingProtocol

/// One field of a model at the hub: its stored state, and the index of what the pending batch has decided of it.
///
/// A deleted field keeps its slot and the version of its deletion, so that every delta within an epoch can be
/// computed and no deleted field comes back. A model may have millions of slots, so shared and rare data live
/// elsewhere.
struct FieldSlot {
  let name: String
  /// The buffer is reused from value to value.
  fileprivate(set) var value: [UInt8] = []
  /// The writer, and the epoch of the log in which it wrote.
  fileprivate(set) var source = FieldSource.nobody
  /// The version of the stored value or deletion; 0: never written.
  fileprivate(set) var version: Version = 0
  fileprivate(set) var time: UInt64 = 0
  /// The last proposal that named it, counted by the sequencer: a proposal names a field at most once.
  var namedBy: UInt64 = 0
  fileprivate var digest: UInt64 = 0
  fileprivate(set) var number: ProposalNumber = 0
  /// The index of what the pending batch has decided of the field; -1: nothing.
  fileprivate var decision: Int32 = -1
  fileprivate(set) var hasValue = false
  /// Set by `setIfAbsent` and not written since: a recovery may replace it.
  var isWeak = false
  fileprivate var isDigestStale = false
  /// Whether it is an element of a list.
  let isElement: Bool

  fileprivate init(name: String) {
    self.name = name
    isElement = name.utf8.firstIndex(of: UInt8(ascii: "@")).map { $0 > name.startIndex } ?? false
  }

  /// The field's state once the pending batch is stored. The value itself is in the body being written.
  struct Decided {
    var version: Version = 0
    var hasValue = false
    var value = 0..<0
    /// The writer's index among the model's writers.
    var writer = 0
  }

  var origin: Origin { source.origin }
  /// The epoch of the log in which it was written.
  var epoch: Epoch { source.epoch }

  /// The position of the stored state among the log's old epochs; nil if it was written in the current one.
  func oldPoint(in epoch: Epoch) -> RecoveryPoint? {
    version > 0 && self.epoch != epoch ? RecoveryPoint(epoch: self.epoch, version: version) : nil
  }

  /// The stored value; nil: none.
  var fieldValue: FieldValue? { hasValue ? FieldValue(bytes: value) : nil }

  /// - Returns: whether the digest was up to date until now.
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

/// The fields of a model by id, and by name where a name is given.
struct FieldSlots {
  private(set) var slots: [FieldSlot] = []
  private var ids = NameTable()
  private var sources = FieldSources()
  /// What the pending batch has decided, in the order in which fields were first touched.
  private var decisions: [FieldSlot.Decided] = []
  /// The number of fields that have a value.
  private(set) var valueCount = 0
  /// The number of fields to show to people: the description counts only when it is alone.
  var countedValues: Int {
    let isDescribed = descriptionID != .max && slots[Int(descriptionID)].hasValue
    return isDescribed && valueCount > 1 ? valueCount - 1 : valueCount
  }
  private var storedDigest: UInt64 = 0
  private var stale: [FieldID] = []
  /// The field that holds the description; `FieldID.max` while it has no id.
  private(set) var descriptionID = FieldID.max
  /// The number of fields that are elements of lists, deleted ones included.
  private(set) var elementNames = 0

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

  /// Makes room for N fields while there are none.
  mutating func reserve(_ fields: Int) {
    slots.reserveCapacity(fields)
    ids.reserve(fields)
  }

  /// The id of a name. A new name gets the next id.
  mutating func introduce(_ name: UnsafeRawBufferPointer) -> FieldID {
    let hash = NameTable.hash(name)
    return find(name, hash) ?? add(String(decoding: name, as: UTF8.self), hash)
  }

  mutating func add(_ name: String) -> FieldID { add(name, name.nameHash) }

  private mutating func add(_ name: String, _ hash: Int) -> FieldID {
    let id = FieldID(slots.count)
    slots.append(FieldSlot(name: name))
    if slots[Int(id)].isElement { elementNames += 1 }
    ids.add(id, hash) { slots[Int($0)].name.nameHash }
    if name == Names.description { descriptionID = id }
    return id
  }

  /// Removes the names of a batch that was not stored.
  mutating func truncate(to count: Int) {
    while slots.count > count {
      let id = FieldID(slots.count - 1)
      ids.removeLast(id, hash: slots[Int(id)].name.nameHash)
      let slot = slots.removeLast()
      if slot.name == Names.description { descriptionID = .max }
      if slot.isElement { elementNames -= 1 }
    }
  }

  /// Keeps only these fields, in their order, and renumbers them from 0.
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

  /// The source for a writer in an epoch of the log; the same object as long as a field refers to it.
  mutating func source(of origin: Origin, in epoch: Epoch) -> FieldSource { sources.of(origin, epoch) }

  /// Stores a value; nil stores a deletion.
  mutating func store(
    _ value: UnsafeRawBufferPointer?, in id: FieldID, from source: FieldSource, version: Version,
    number: ProposalNumber, time: UInt64
  ) {
    let index = Int(id)
    if slots[index].hasValue != (value != nil) { valueCount += value == nil ? -1 : 1 }
    if slots[index].store(value, from: source, version: version, number: number, time: time) { stale.append(id) }
  }

  /// The digest of all stored values. Only what changed since the last call is computed.
  mutating func digest() -> UInt64 {
    for id in stale {
      let index = Int(id)
      storedDigest &-= slots[index].digest
      slots[index].digest = slots[index].currentDigest()
      slots[index].isDigestStale = false
      storedDigest &+= slots[index].digest
    }
    stale.removeAll(keepingCapacity: stale.count <= PendingBatch.roomKept)
    return storedDigest
  }

  // MARK: Decisions of the pending batch

  /// A field's state once the pending batch is stored; the stored state while the batch does not name the field.
  func decided(_ id: FieldID) -> FieldSlot.Decided {
    let index = slots[Int(id)].decision
    guard index < 0 else { return decisions[Int(index)] }
    return FieldSlot.Decided(version: slots[Int(id)].version, hasValue: slots[Int(id)].hasValue)
  }

  /// Whether the pending batch changes a field.
  func isDecided(_ id: FieldID) -> Bool { slots[Int(id)].decision >= 0 }

  /// A field's version once the pending batch is stored.
  func decidedVersion(_ id: FieldID) -> Version {
    let index = slots[Int(id)].decision
    return index < 0 ? slots[Int(id)].version : decisions[Int(index)].version
  }

  /// Decides a field. A decision equal to the stored state removes the earlier one.
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

  /// Ends the pending batch. No field may refer to a decision any more.
  mutating func endDecisions() {
    decisions.removeAll(keepingCapacity: decisions.count <= PendingBatch.roomKept)
  }

  mutating func forgetDecision(_ id: FieldID) { slots[Int(id)].decision = -1 }
}

extension HubMachine {
  /// The name of a field by this hub's number; nil: it has given no such number.
  package func fieldName(_ id: FieldID, of topic: Topic) -> String? {
    guard let index = hub.models.index(of: topic), Int(id) < hub.models[index].fields.count else { return nil }
    return hub.models[index].fields[id].name
  }
}
