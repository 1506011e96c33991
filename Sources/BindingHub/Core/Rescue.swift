import BindingWire

/// A point of an old life of the log: the later epoch counts more, then the later version.
struct RescuePoint: Comparable, Hashable {
  var epoch: Epoch
  var version: Version

  /// Before every life.
  static let beginning = RescuePoint(epoch: 0, version: 0)

  static func < (left: RescuePoint, right: RescuePoint) -> Bool {
    (left.epoch, left.version) < (right.epoch, right.version)
  }
}

/// Bringing back what a hub lost, for one model: which peers were asked for their replicas, and the best answer so far.
///
/// A replica is the whole model at its version, so of several the one that was furthest ahead holds all that is left;
/// a deletion that it saw stays a deletion.
struct Rescue {
  let endsAt: UInt64
  var lastJoinAt: UInt64
  /// Sessions that were asked and have not answered wholly.
  var asked: Set<SessionID> = []
  /// Whether anybody was asked at all; else it only waits for who might have something.
  var hasAsked = false
  /// What has come of an offer whose last chunk is still to come.
  private var partial: [SessionID: [OfferedField]] = [:]
  private(set) var best: (point: RescuePoint, fields: [OfferedField])?

  init(now: UInt64, limitMilliseconds: UInt64) {
    endsAt = now + limitMilliseconds
    lastJoinAt = now
  }

  /// Takes one message of an offer in.
  mutating func receive(_ offer: Offer, from session: SessionID) {
    guard asked.contains(session) else { return }
    partial[session, default: []].append(contentsOf: offer.fields)
    guard offer.isLast else { return }
    asked.remove(session)
    let fields = partial.removeValue(forKey: session) ?? []
    let point = RescuePoint(epoch: offer.epoch, version: offer.version)
    if best.map({ $0.point < point }) ?? true { best = (point, fields) }
  }

  mutating func forget(_ session: SessionID) {
    asked.remove(session)
    partial[session] = nil
  }

  func isOver(now: UInt64, quietMilliseconds: UInt64) -> Bool {
    now >= endsAt || (asked.isEmpty && now >= lastJoinAt + quietMilliseconds)
  }

  func nextDeadline(quietMilliseconds: UInt64) -> UInt64 {
    asked.isEmpty ? min(endsAt, lastJoinAt + quietMilliseconds) : endsAt
  }
}

extension ModelLog {
  /// Puts what the best offer holds into the hand: in the old order, under the old origins and numbers, only into
  /// fields that nobody wrote in this life. A batch takes as much as fits into a message; what is left comes with the
  /// next.
  /// - Returns: how many fields came back, and whether that was all.
  func takeIn(
    _ best: (point: RescuePoint, fields: [OfferedField]), epoch: Epoch, wall: UInt64, limits: Limits
  ) -> (count: Int, isComplete: Bool) {
    openHand(epoch: epoch, time: wall)
    // Values that were committed once are not held against a description: it may have come later than they.
    defer { takeDecidedRules() }
    var count = 0
    // Fields of one old commit come back together; those that were written by it and again later are in the later one.
    let old = best.fields.sorted { ($0.version, $0.name) < ($1.version, $1.name) }
    var index = 0
    while index < old.count {
      let first = old[index]
      let end = old[index...].firstIndex { $0.version != first.version } ?? old.count
      let together = old[index..<end].filter {
        mayRescue($0, from: best.point, epoch) && fits($0, limits) && !holds($0, from: best.point)
      }
      index = end
      guard !together.isEmpty else { continue }
      guard hasRoom(limits) else { return (count, false) }
      count += rescue(together, as: first, from: best.point, limits)
    }
    guard hasRoom(limits) else { return (count, false) }
    let (deleted, isComplete) = deleteStale(notIn: Set(best.fields.map(\.name)), best, epoch)
    return (count + deleted, isComplete)
  }

  private func hasRoom(_ limits: Limits) -> Bool {
    !hand.commits.isFull && hand.commits.byteCount < limits.chunkBytes
  }

  /// Commits the fields of one old commit again, as `first` was.
  private func rescue(
    _ together: [OfferedField], as first: OfferedField, from point: RescuePoint, _ limits: Limits
  ) -> Int {
    var count = 0
    let version = nextVersion
    let writer = writer(for: first.origin)
    hand.commits.beginCommit(origin: hand.commits.origin(first.origin), number: first.number, hops: 0)
    for field in together {
      guard let id = fields.id(of: field.name) ?? addRescued(field.name, limits) else { continue }
      guard hand.commits.change(id, field.value) else { break }
      note(id, version, value: field.value.map { hand.commits.lastValue(of: $0.bytes.count) }, by: writer)
      hand.rescuedFields.append((id, point))
      count += 1
    }
    hand.commits.endCommit()
    hand.touchedWriters.append(writer)
    withWriter(writer) { $0.decidedMark = max($0.decidedMark, first.number) }
    return count
  }

  /// What the store kept of an old life, or an earlier and less advanced offer brought back, and the best does not
  /// hold, had been deleted by then.
  private func deleteStale(
    notIn names: Set<String>, _ best: (point: RescuePoint, fields: [OfferedField]), _ epoch: Epoch
  ) -> (count: Int, isComplete: Bool) {
    let stale = (0..<FieldID(fields.count)).filter { id in
      let slot = fields[id]
      guard slot.hasValue, !fields.isDecided(id), !names.contains(slot.name) else { return false }
      return slot.oldPoint(in: epoch).map { $0 < best.point } ?? false
    }
    guard !stale.isEmpty else { return (0, true) }
    let version = nextVersion
    // Nobody proposed these deletions again: they stand under the hub's own name, numbered by their version.
    let origin = Origin(tag: .none, name: "rescue")
    let writer = writer(for: origin)
    hand.commits.beginCommit(
      origin: hand.commits.origin(origin), number: ProposalNumber(truncatingIfNeeded: version), hops: 0)
    var count = 0
    for id in stale where hand.commits.delete(id) {
      note(id, version, value: nil, by: writer)
      hand.rescuedFields.append((id, best.point))
      count += 1
    }
    hand.commits.endCommit()
    return (count, count == stale.count)
  }

  /// Whether nobody wrote the field in this life, and what is offered is later than what the store kept of it. What its
  /// writer has sent again and this hub has decided has another outcome by now.
  private func mayRescue(_ offered: OfferedField, from point: RescuePoint, _ epoch: Epoch) -> Bool {
    if let writer = knownWriter(offered.origin.tag), withWriter(writer, { $0.hasDecided(offered.number) }) {
      return false
    }
    guard let id = fields.id(of: offered.name) else { return true }
    let slot = fields[id]
    if fields.isDecided(id) { return false }
    if slot.version == 0 || slot.isWeak { return true }
    if let from = slot.rescuedFrom { return from < point }
    return slot.oldPoint(in: epoch).map { $0 < RescuePoint(epoch: point.epoch, version: offered.version) } ?? false
  }

  /// Whether an earlier offer has brought the very same write back; it is not carried out a second time.
  private func holds(_ field: OfferedField, from point: RescuePoint) -> Bool {
    guard let id = fields.id(of: field.name), fields[id].version > 0, fields[id].number == field.number,
      fields[id].origin.tag == field.origin.tag
    else { return false }
    fields.setRescued(id, from: point)
    return true
  }

  /// Today's limits hold for what comes back too; the last number of all would leave its writer none.
  private func fits(_ field: OfferedField, _ limits: Limits) -> Bool {
    guard field.number < .max else { return false }
    guard let value = field.value else { return true }
    guard value.bytes.count <= limits.maxValueBytes else { return false }
    return value.bytes.withUnsafeBytes { bytes in
      JSON.isValid(bytes) && (field.name != Names.description || (try? ModelRules(describedBy: bytes)) != nil)
    }
  }

  private func addRescued(_ name: String, _ limits: Limits) -> FieldID? {
    guard fields.count < limits.maxModelFields else { return nil }
    let id = fields.add(name)
    _ = hand.commits.introduce(name)
    return id
  }
}
