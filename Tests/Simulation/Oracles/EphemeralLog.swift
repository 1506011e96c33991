import BindingProtocol

/// What the hub published of a model's ephemeral model: the truth for replicas of it, and each commit is checked
/// against the commits before.
struct EphemeralLog {
  /// A field's value and holder; fields of the hub itself have no tag.
  struct Held: Equatable {
    let value: FieldValue
    let tag: Tag
  }
  typealias State = [String: Held]
  private struct EpochLog {
    /// By version, from 0.
    var states: [State] = [[:]]
    var authors: [Tag] = [.none]
    /// By the hub's field numbers, which are those of a topic.
    var fields: [String] = []
    var topic = Topics.none
    var lastDecided: [Tag: ProposalNumber] = [:]
  }
  /// What a commit changed.
  struct Change {
    let field: String
    let tag: Tag
    let old: Held?
    let new: Held?
  }
  let model: String
  let name: String
  /// The hub's start number.
  private(set) var epoch: Epoch = 0
  private var epochs: [Epoch: EpochLog] = [:]

  init(of model: String) {
    self.model = model
    name = Names.ephemeral(model)
  }

  var present: State { epochs[epoch]?.states.last ?? [:] }

  var owner: Tag? { present[Names.owner]?.tag }

  func state(_ epoch: Epoch, _ version: Version) -> State? {
    guard let states = epochs[epoch]?.states, version < states.count else { return nil }
    return states[Int(version)]
  }

  /// The writer of a version; none: the hub.
  func author(_ epoch: Epoch, _ version: Version) -> Tag? {
    guard let authors = epochs[epoch]?.authors, version < authors.count else { return nil }
    return authors[Int(version)]
  }

  /// Another run of the hub begins with an empty model.
  mutating func begin(_ epoch: Epoch) {
    self.epoch = epoch
    epochs[epoch] = EpochLog()
  }

  /// The hub has forgotten an identity and its last decided numbers.
  mutating func forget(_ tag: Tag) { epochs[epoch]?.lastDecided[tag] = nil }

  /// Under another topic the fields that have a value are renumbered in the same order; a model that was removed
  /// and recreated has none.
  /// - Returns: whether names were released.
  mutating func moves(to topic: Topic) -> Bool {
    guard var now = epochs[epoch], now.topic != topic else { return false }
    defer {
      now.topic = topic
      epochs[epoch] = now
    }
    guard now.topic != Topics.none, let present = now.states.last else { return false }
    now.fields.removeAll { present[$0] == nil }
    return !now.fields.isEmpty
  }

  /// Enters published commits.
  /// - Returns: what they change, in order.
  mutating func enter(_ group: CommitGroup) throws(Violation) -> [Change] {
    guard group.epoch == epoch, var now = epochs[epoch] else {
      throw Violation(.order, "\(name) is published in epoch \(group.epoch), the hub's is \(epoch)")
    }
    guard Int(group.previous) == now.states.count - 1 else {
      throw Violation(.order, "after version \(now.states.count - 1) of \(name) follows one after \(group.previous)")
    }
    epochs[epoch] = nil
    defer { epochs[epoch] = now }
    for (offset, field) in group.names.names.enumerated() where Int(group.names.first) + offset == now.fields.count {
      now.fields.append(field)
    }
    var changes: [Change] = []
    var state = now.states.last ?? [:]
    for commit in group.commits {
      let tag = group.origins[Int(commit.origin)].tag
      if tag != .none {
        guard commit.number > now.lastDecided[tag] ?? 0 else {
          throw Violation(.exactlyOnce, "proposal \(commit.number) of \(tag.short) was committed again in \(name)")
        }
        now.lastDecided[tag] = commit.number
      }
      for change in commit.changes {
        guard Int(change.field) < now.fields.count else {
          throw Violation(.trueReplica, "a commit names field \(change.field) of \(name), which has no name")
        }
        let field = now.fields[Int(change.field)]
        let (old, new) = (state[field], change.value.map { Held(value: $0, tag: tag) })
        try check(field, from: old, to: new, by: tag)
        state[field] = new
        changes.append(Change(field: field, tag: tag, old: old, new: new))
      }
      now.states.append(state)
      now.authors.append(tag)
    }
    return changes
  }

  /// §9: only its holder writes a field; the hub itself only deletes, except for presence slots.
  private func check(_ field: String, from old: Held?, to new: Held?, by tag: Tag) throws(Violation) {
    if field.hasPrefix(Names.presencePrefix) {
      guard tag != .none, EphemeralLog.slotOwner(old) != tag || EphemeralLog.slotOwner(new) != tag else { return }
      throw Violation(.holder, "\(tag.short) wrote \(field) of \(name), which is not its presence slot")
    } else if tag == .none {
      guard new != nil else { return }
      throw Violation(.noPhantom, "the hub itself wrote \(field) of \(name)")
    } else if let old, old.tag != tag {
      throw Violation(.holder, "\(field) of \(name) is \(old.tag.short)'s, and \(tag.short) wrote it")
    }
  }

  /// The peer that a presence slot describes.
  static func slotOwner(_ held: Held?) -> Tag? {
    guard case .string(let text)? = (try? held?.value.json)?["tag"] else { return nil }
    return Tag(text)
  }
}
