import BindingWire

/// One field of a model at the hub: what is stored of it, and what has been decided but not yet stored.
///
/// A deleted field keeps its slot and the version of its deletion, so that every delta within an epoch can be computed
/// and nothing that was deleted comes back.
struct FieldSlot {
  let name: String
  let digestState: UInt64
  /// The version of the stored value or deletion; 0: never written.
  var version: Version = 0
  /// The life of the log in which that was written.
  var epoch: Epoch = 0
  var hasValue = false
  /// Reused from value to value.
  var value: [UInt8] = []
  var origin = Origin(tag: .none, name: "")
  var number: ProposalNumber = 0
  var time: UInt64 = 0
  /// A default that yielded to nothing yet: a rescue may replace it.
  var isWeak = false
  /// The old life from which the stored value was rescued.
  var rescuedFrom: RescuePoint?

  /// What it is if the batch in hand is stored; the same as what is stored while the batch does not name it.
  var decided = Decided()
  /// The last proposal that named it, counted by the sequencer: a field stands once in a proposal.
  var namedBy: UInt64 = 0
  /// Where its rule stands among the model's rules of that turn, -1: it is free; see `ModelLog.rule(of:)`.
  var rulePlace: Int32 = -1
  var rulesTurn: UInt32 = 0

  var digest: UInt64 = 0
  var isDigestStale = false

  init(name: String) {
    self.name = name
    digestState = Array(name.utf8).withUnsafeBytes { Digest.state(ofName: $0) }
  }

  /// What a batch in hand has decided of a field. The value itself lies in the body that is being written.
  struct Decided {
    var version: Version = 0
    var hasValue = false
    var value = 0..<0
    /// Who wrote it, among the model's writers.
    var writer = 0
  }

  /// Whether the batch in hand changes it.
  var isDecided: Bool { decided.version != version }

  mutating func forgetDecision() { decided = Decided(version: version, hasValue: hasValue) }

  /// Where what is stored stands among the old lives of the log; nil if it was written in this one.
  func oldPoint(in epoch: Epoch) -> RescuePoint? {
    if let rescuedFrom { return rescuedFrom }
    return version > 0 && self.epoch != epoch ? RescuePoint(epoch: self.epoch, version: version) : nil
  }

  /// The stored value; nil if there is none.
  var fieldValue: FieldValue? { hasValue ? FieldValue(bytes: value) : nil }
}

/// The fields of a model by their ids, found by name when a name is given.
struct FieldSlots {
  private(set) var slots: [FieldSlot] = []
  private var ids: [String: FieldID] = [:]
  /// Fields that have a value.
  private(set) var valueCount = 0
  private var storedDigest: UInt64 = 0
  private var stale: [FieldID] = []
  /// The field that holds the description; `FieldID.max` while nobody has named it.
  private(set) var descriptionID = FieldID.max

  var count: Int { slots.count }

  subscript(id: FieldID) -> FieldSlot {
    get { slots[Int(id)] }
    _modify { yield &slots[Int(id)] }
  }

  func id(of name: String) -> FieldID? { ids[name] }

  func id(of name: UnsafeRawBufferPointer) -> FieldID? { ids[String(decoding: name, as: UTF8.self)] }

  mutating func add(_ name: String) -> FieldID {
    let id = FieldID(slots.count)
    slots.append(FieldSlot(name: name))
    ids[name] = id
    if name == Names.description { descriptionID = id }
    return id
  }

  /// Takes back names whose batch was not stored.
  mutating func truncate(to count: Int) {
    while slots.count > count {
      let slot = slots.removeLast()
      ids[slot.name] = nil
      if slot.name == Names.description { descriptionID = .max }
    }
  }

  /// Stores a value or, with nil, a deletion.
  mutating func store(
    _ value: UnsafeRawBufferPointer?, in id: FieldID, epoch: Epoch, version: Version, origin: Origin,
    number: ProposalNumber, time: UInt64
  ) {
    let index = Int(id)
    if slots[index].hasValue != (value != nil) { valueCount += value == nil ? -1 : 1 }
    slots[index].value.removeAll(keepingCapacity: value != nil)
    if let value { slots[index].value.append(contentsOf: value) }
    slots[index].hasValue = value != nil
    slots[index].version = version
    slots[index].epoch = epoch
    slots[index].number = number
    slots[index].time = time
    if slots[index].origin != origin { slots[index].origin = origin }
    slots[index].isWeak = false
    slots[index].rescuedFrom = nil
    slots[index].forgetDecision()
    guard !slots[index].isDigestStale else { return }
    slots[index].isDigestStale = true
    stale.append(id)
  }

  /// The digest of all stored values: only what changed since the last time is computed.
  mutating func digest() -> UInt64 {
    for id in stale {
      let index = Int(id)
      storedDigest &-= slots[index].digest
      let slot = slots[index]
      slots[index].digest =
        slot.hasValue
        ? slot.value.withUnsafeBytes { Digest.field(state: slot.digestState, version: slot.version, value: $0) } : 0
      slots[index].isDigestStale = false
      storedDigest &+= slots[index].digest
    }
    stale.removeAll(keepingCapacity: true)
    return storedDigest
  }
}
