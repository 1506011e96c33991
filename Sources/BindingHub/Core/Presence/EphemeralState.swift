import BindingProtocol

/// What a model's ephemeral line has besides its fields: who is present.
///
/// Each who is present has a place; its number is part of the name of the field that tells of it. Places are used
/// again, so that coming and going leaves no names behind.
final class EphemeralState {
  /// The life of every ephemeral line of a hub: as long as its process.
  let epoch: Epoch
  /// The stored line of the same model.
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

  /// The field that tells of a peer; nil: it is not present.
  func field(of tag: Tag) -> String? { byTag[tag].map(EphemeralState.field) }

  func slot(of tag: Tag) -> Slot? { byTag[tag].flatMap { slots[$0] } }

  /// Who is present.
  var tags: Dictionary<Tag, Int>.Keys { byTag.keys }

  /// Gives a place to who has come.
  /// - Returns: its field.
  func occupy(_ slot: Slot) -> String {
    let number = slots.firstIndex { $0 == nil } ?? slots.count
    if number == slots.count { slots.append(slot) } else { slots[number] = slot }
    byTag[slot.tag] = number
    return EphemeralState.field(number)
  }

  /// Takes the place back of who has gone.
  /// - Returns: its field.
  func free(_ tag: Tag) -> String? {
    guard let number = byTag.removeValue(forKey: tag) else { return nil }
    slots[number] = nil
    return EphemeralState.field(number)
  }

  private static func field(_ number: Int) -> String { "\(Names.presencePrefix)\(number)" }
}

extension EphemeralState.Slot {
  /// What the field tells; `announcement` is what the peer wants the others to know of it.
  func value(announcing announcement: UnsafeRawBufferPointer?) -> FieldValue {
    var members: [JSON.Member] = [
      .init("tag", .string(tag.description)), .init("name", .string(name)),
      .init("since", .integer(Int64(clamping: since))),
    ]
    if let announcement, let json = try? JSON(parsing: announcement) { members.append(.init("says", json)) }
    return FieldValue(json: .object(members))
  }
}
