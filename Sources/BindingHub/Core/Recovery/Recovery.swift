import BindingProtocol

/// Where something stood in an old life of the log: the later life counts more, then the later version.
struct RecoveryPoint: Comparable, Hashable {
  /// The number of the life: the upper half of its epoch. The lower half is chance, and says nothing of what was later.
  let epochNumber: UInt32
  let version: Version

  init(epoch: Epoch, version: Version) {
    epochNumber = UInt32(truncatingIfNeeded: epoch >> 32)
    self.version = version
  }

  /// Before every life.
  static let beginning = RecoveryPoint(epoch: 0, version: 0)

  static func < (left: RecoveryPoint, right: RecoveryPoint) -> Bool {
    (left.epochNumber, left.version) < (right.epochNumber, right.version)
  }

  /// Whether a replica that was there can be of this log, which is in `epoch` now: of a life before it, at a version
  /// that a model can have come to.
  func isPlausible(in epoch: Epoch) -> Bool {
    epochNumber < epoch >> 32 && version > 0 && version <= RecoveryPoint.lastVersion
  }

  /// No model comes further: at a million commits a second this takes 285 years.
  static let lastVersion: Version = 1 << 53
}

/// Whose replicas of a model were asked for in this life of the log: so that one that is not true keeps nobody from
/// being asked, and a thousand that are the same are not all asked.
struct AskedReplicas {
  /// So many are asked that are at the same version; so many in all.
  static let mostAtOnePoint = 4
  static let mostInAll = 32
  private var counts: [RecoveryPoint: Int] = [:]
  private var total = 0
  /// Of those that came wholly.
  private var furthest: RecoveryPoint?

  /// - Parameter isEarly: this life of the log has just begun, so whoever comes back now was there when the old one
  ///   ended. Later only who is further than all that came is asked: others may have slept through deletions.
  func mayAsk(at point: RecoveryPoint, isEarly: Bool) -> Bool {
    guard total < Self.mostInAll, counts[point, default: 0] < Self.mostAtOnePoint else { return false }
    guard let furthest else { return true }
    return isEarly ? point.epochNumber >= furthest.epochNumber : point > furthest
  }

  mutating func ask(at point: RecoveryPoint) {
    counts[point, default: 0] += 1
    total += 1
  }

  /// Who was asked has gone without an answer.
  mutating func withdraw(at point: RecoveryPoint) {
    counts[point, default: 1] -= 1
    total -= 1
  }

  mutating func came(at point: RecoveryPoint) { furthest = max(furthest ?? point, point) }
}

/// Bringing back what a hub lost, for one model: which peers were asked for their replicas, and what they offered.
///
/// Field by field the highest old version counts, whoever offers it. What it becomes stands under the name of who
/// offered it, for nobody can tell who wrote it.
struct Recovery {
  /// A field as it was offered.
  struct Field {
    let name: String
    let point: RecoveryPoint
    /// nil: deleted.
    let value: FieldValue?
    /// Who is said to have written it, as what.
    let tag: Tag
    let number: ProposalNumber
    let offerer: Origin
  }
  private struct Question {
    let request: UInt32
    let point: RecoveryPoint
    /// What has come of an offer whose last chunk is still to come.
    var fields: [OfferedField] = []
  }
  /// What became of a message of an offer.
  enum Received {
    case unasked
    /// It names a life or a version that cannot be: nothing of it counts.
    case refused
    /// More of it is to come.
    case part
    /// All of it is here, but for so many fields that cannot be taken.
    case whole(RecoveryPoint, refusedFields: Int)
  }
  let endsAt: UInt64
  var lastJoinAt: UInt64
  /// Whether anybody was asked at all; else it only waits for who might have something.
  private(set) var hasAsked = false
  /// Sessions that were asked and have not answered wholly.
  private var questions: [SessionID: Question] = [:]
  private(set) var fields: [String: Field] = [:]
  /// The highest number of each writer that the replicas have seen.
  private(set) var numbers: [Tag: ProposalNumber] = [:]
  /// The replica that was furthest ahead, and what it names: what it lacks had been deleted by then.
  private(set) var furthest: (point: RecoveryPoint, offerer: Origin, names: Set<String>)?

  init(now: UInt64, limitMilliseconds: UInt64) {
    endsAt = now + limitMilliseconds
    lastJoinAt = now
  }

  mutating func ask(_ session: SessionID, request: UInt32, at point: RecoveryPoint, now: UInt64) {
    questions[session] = Question(request: request, point: point)
    hasAsked = true
    lastJoinAt = now
  }

  /// Takes one message of an offer in.
  mutating func receive(
    _ offer: Offer, from session: SessionID, _ offerer: Origin, in epoch: Epoch, _ limits: Limits
  ) -> Received {
    guard var question = questions[session], question.request == offer.request else { return .unasked }
    let point = RecoveryPoint(epoch: offer.epoch, version: offer.version)
    guard point.isPlausible(in: epoch) else {
      questions[session] = nil
      return .refused
    }
    let room = max(limits.maxModelFields - question.fields.count, 0)
    question.fields.append(contentsOf: offer.fields.prefix(room))
    var refused = max(offer.fields.count - room, 0)
    guard offer.isLast else {
      questions[session] = question
      return .part
    }
    questions[session] = nil
    var names: Set<String> = []
    for field in question.fields {
      guard Recovery.isAcceptable(field, at: point, limits) else {
        refused += 1
        continue
      }
      names.insert(field.name)
      let fieldPoint = RecoveryPoint(epoch: offer.epoch, version: field.version)
      if let known = fields[field.name], known.point >= fieldPoint { continue }
      fields[field.name] = Field(
        name: field.name, point: fieldPoint, value: field.value, tag: field.origin.tag, number: field.number,
        offerer: offerer)
    }
    if furthest.map({ $0.point < point }) ?? true { furthest = (point, offerer, names) }
    // The writer of a field was seen, too; of a peer that does not say more that is all there is.
    let written = question.fields.lazy.map { SeenNumber(tag: $0.origin.tag, number: $0.number) }
    for seen in [Array(written), offer.numbers ?? []].lazy.map({ $0.prefix(SeenNumber.maxCount) }).joined()
    where seen.tag != .none && seen.number > 0 {
      numbers[seen.tag] = max(numbers[seen.tag] ?? 0, seen.number)
    }
    return .whole(point, refusedFields: refused)
  }

  /// Names as in proposals, today's limits, and a version that the replica has come to.
  private static func isAcceptable(_ field: OfferedField, at point: RecoveryPoint, _ limits: Limits) -> Bool {
    guard field.version > 0, field.version <= point.version,
      field.name == Names.description || !field.name.hasPrefix("@")
    else { return false }
    guard let value = field.value else { return true }
    guard value.bytes.count <= limits.maxValueBytes else { return false }
    return value.bytes.withUnsafeBytes { bytes in
      JSON.isValid(bytes) && (field.name != Names.description || (try? ModelRules(describedBy: bytes)) != nil)
    }
  }

  /// - Returns: where the replica was that is asked for in vain.
  mutating func forget(_ session: SessionID) -> RecoveryPoint? { questions.removeValue(forKey: session)?.point }

  func isOver(now: UInt64, quietMilliseconds: UInt64) -> Bool {
    now >= endsAt || (questions.isEmpty && now >= lastJoinAt + quietMilliseconds)
  }

  func nextDeadline(quietMilliseconds: UInt64) -> UInt64 {
    questions.isEmpty ? min(endsAt, lastJoinAt + quietMilliseconds) : endsAt
  }
}

/// Where in an old life fields stood that were brought back into this one, by their ids: what is offered then has to be
/// later.
struct BroughtBack {
  private struct Entry {
    var version: Version = 0
    var point = RecoveryPoint.beginning
  }
  private var entries: [Entry] = []

  /// nil: what the field has at this version was not brought back.
  func point(of id: FieldID, at version: Version) -> RecoveryPoint? {
    guard Int(id) < entries.count, entries[Int(id)].version == version, version > 0 else { return nil }
    return entries[Int(id)].point
  }

  mutating func record(_ id: FieldID, at version: Version, from point: RecoveryPoint) {
    while entries.count <= Int(id) { entries.append(Entry()) }
    entries[Int(id)] = Entry(version: version, point: point)
  }

  /// The fields are numbered anew: these are left.
  mutating func keep(_ kept: [FieldID]) {
    entries = kept.prefix { Int($0) < entries.count }.map { entries[Int($0)] }
  }
}
