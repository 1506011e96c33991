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

  struct Slot: Hashable {
    let tag: Tag
    let name: String
    /// Milliseconds since 1970.
    let since: UInt64
  }

  init(of stored: ModelLog, epoch: Epoch) {
    self.stored = stored
    self.epoch = epoch
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

  private static func field(_ number: Int) -> String { "\(Names.presencePrefix)\(number)" }
}

extension EphemeralState.Slot {
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
