import BindingProtocol

/// The additional state of an ephemeral model: which peers are present.
///
/// Each present peer has a slot; the slot's number is part of the name of the field that describes the peer. Slots
/// are reused, so peers that come and go leave no names behind.
final class EphemeralState {
  /// The epoch of every ephemeral model of a hub: one per process.
  let epoch: Epoch
  /// The stored model with the same id.
  let stored: ModelLog
  private(set) var slots: [Slot?] = []
  private var byTag: [Tag: Int] = [:]
  /// The index of this hub's own part, which siblings follow; nil: none does.
  var part: Int?
  /// Of a part: the index of the ephemeral model that it is a part of.
  let whole: Int?
  /// The version in which each field was taken from the part of a sibling. A later one is of a peer here.
  private(set) var takenFrom: [String: Version] = [:]
  /// The peers that are present at siblings, as their hubs describe them.
  var peersElsewhere: [Tag: FieldValue] = [:]

  struct Slot: Hashable {
    let tag: Tag
    let name: String
    /// Milliseconds since 1970.
    let since: UInt64
  }

  /// - Parameter whole: of a part, the index of the ephemeral model.
  init(of stored: ModelLog, epoch: Epoch, whole: Int? = nil) {
    self.stored = stored
    self.epoch = epoch
    self.whole = whole
  }

  /// The field that describes a peer; nil: it is not present.
  func field(of tag: Tag) -> String? { byTag[tag].map(EphemeralState.field) }

  func slot(of tag: Tag) -> Slot? { byTag[tag].flatMap { slots[$0] } }

  /// The present peers.
  var tags: Dictionary<Tag, Int>.Keys { byTag.keys }

  /// Gives a slot to a peer that has arrived.
  /// - Returns: the slot's field.
  func occupy(_ slot: Slot) -> String {
    let number = slots.firstIndex { $0 == nil } ?? slots.count
    if number == slots.count { slots.append(slot) } else { slots[number] = slot }
    byTag[slot.tag] = number
    return EphemeralState.field(number)
  }

  /// Frees the slot of a peer that has left.
  /// - Returns: the slot's field.
  func free(_ tag: Tag) -> String? {
    guard let number = byTag.removeValue(forKey: tag) else { return nil }
    slots[number] = nil
    return EphemeralState.field(number)
  }

  // MARK: Siblings

  /// A field's value is that in the part of a sibling, as of this version.
  func take(_ field: String, at version: Version) { takenFrom[field] = version }

  /// Forgets fields that a peer here has written since, or that are no more.
  func keepTaken(_ isKept: (String, Version) -> Bool) { takenFrom = takenFrom.filter { isKept($0.key, $0.value) } }

  private static func field(_ number: Int) -> String { "\(Names.presencePrefix)\(number)" }
}

extension ModelLog {
  /// Whether the decided value of a field is that in the part of a sibling.
  func isTaken(_ id: FieldID) -> Bool {
    guard let ephemeral, !ephemeral.takenFrom.isEmpty else { return false }
    return ephemeral.takenFrom[fields[id].name] == fields.decidedVersion(id)
  }
}

extension EphemeralState.Slot {
  /// Reads the value of a presence field; nil: it is none.
  init?(_ value: FieldValue) {
    guard let json = try? JSON(parsing: value.bytes), let text = json["tag"]?.string, let tag = Tag(text),
      let name = json["name"]?.string, case .integer(let since)? = json["since"]
    else { return nil }
    self.init(tag: tag, name: name, since: UInt64(clamping: since))
  }

  /// The field's value; `announcement` is what the peer announces of itself.
  func value(announcing announcement: UnsafeRawBufferPointer?) -> FieldValue {
    var members: [JSON.Member] = [
      .init("tag", .string(tag.description)), .init("name", .string(name)),
      .init("since", .integer(Int64(clamping: since))),
    ]
    if let announcement, let json = try? JSON(parsing: announcement) { members.append(.init("says", json)) }
    return FieldValue(json: .object(members))
  }
}

extension HubMachine {
  /// Settles decisions of an ephemeral model immediately, without the store.
  mutating func settleEphemeral(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard model.ephemeral != nil, model.batch.hasDecisions else { return }
    let touched = siblings.isShared(index, hub) ? model.batch.pending.touched.map(\.field) : []
    stored(model.finishBatch(epoch: model.epoch(ifStored: hub.epoch)), index, time, &output)
    shareChanged(touched, of: index, time, &output)
    guard let storedIndex = model.counterpart else { return }
    let stored = hub.models[storedIndex]
    let owner = model.fields.id(of: Names.owner).flatMap { id in
      // What a sibling's peer owns is asked there.
      model.fields[id].hasValue && !model.isTaken(id) ? model.fields[id].origin.tag : nil
    }
    guard stored.approval.owner != owner else { return }
    stored.approval.owner = owner
    if stored.approval.claim?.origin.tag == owner { stored.approval.claim = nil }
    hub.models.touch(storedIndex)
    let wasAsked = proposals.ownerChanged(of: stored)
    if wasAsked || shared != nil { goOn(storedIndex, time, &output) }
  }
}
