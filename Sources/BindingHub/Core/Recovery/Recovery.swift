import BindingProtocol

/// A position in an old epoch of the log, ordered by epoch number, then by version.
struct RecoveryPoint: Comparable, Hashable {
  /// The number of the epoch: its upper half. The lower half is random and has no order.
  let epochNumber: UInt32
  let version: Version

  init(epoch: Epoch, version: Version) {
    epochNumber = UInt32(truncatingIfNeeded: epoch >> 32)
    self.version = version
  }

  /// An earlier or later version of the same epoch.
  func at(_ version: Version) -> RecoveryPoint { RecoveryPoint(epochNumber: epochNumber, version: version) }

  private init(epochNumber: UInt32, version: Version) { (self.epochNumber, self.version) = (epochNumber, version) }

  /// Before every epoch.
  static let beginning = RecoveryPoint(epoch: 0, version: 0)

  static func < (left: RecoveryPoint, right: RecoveryPoint) -> Bool {
    (left.epochNumber, left.version) < (right.epochNumber, right.version)
  }

  /// Whether a replica at this position can belong to this log, which is in `epoch` now: an earlier epoch, and a
  /// version that a model can have reached.
  func isPlausible(in epoch: Epoch) -> Bool {
    epochNumber < epoch >> 32 && version > 0 && version <= RecoveryPoint.lastVersion
  }

  /// No model gets further: at a million commits a second this takes 285 years.
  static let lastVersion: Version = 1 << 53
}

/// The replicas of a model that the hub asked for in this epoch. The limits keep one false replica from blocking
/// others, and a thousand equal ones from all being asked.
struct AskedReplicas {
  /// The most replicas asked for at one version, and in all.
  static let mostAtOnePoint = 4
  static let mostInAll = 32
  private var counts: [RecoveryPoint: Int] = [:]
  private var total = 0
  /// The furthest of those that arrived completely.
  private var furthest: RecoveryPoint?

  /// - Parameter isEarly: the epoch has just begun, so a peer that returns now was there when the old one ended.
  ///   Later only a replica beyond all that arrived is asked for: others may have missed deletions.
  func mayAsk(at point: RecoveryPoint, isEarly: Bool) -> Bool {
    guard total < Self.mostInAll, counts[point, default: 0] < Self.mostAtOnePoint else { return false }
    guard let furthest else { return true }
    return isEarly ? point.epochNumber >= furthest.epochNumber : point > furthest
  }

  mutating func ask(at point: RecoveryPoint) {
    counts[point, default: 0] += 1
    total += 1
  }

  /// The asked peer has gone without an answer.
  mutating func withdraw(at point: RecoveryPoint) {
    counts[point, default: 1] -= 1
    total -= 1
  }

  mutating func came(at point: RecoveryPoint) { furthest = max(furthest ?? point, point) }
}

/// The recovery of one model: the peers that were asked for their replicas, and what they offered.
///
/// The replicas are merged when it is over, so that only those count whose peers may still be believed then.
struct Recovery {
  private struct Question {
    let request: UInt32
    let point: RecoveryPoint
    /// Fields of an offer whose last chunk has not arrived.
    var fields: [OfferedField] = []
  }
  /// A replica that has arrived completely: what of it is acceptable.
  fileprivate struct Replica {
    let session: SessionID
    let offerer: Origin
    let standing: Standing
    let point: RecoveryPoint
    let fields: [OfferedField]
    let numbers: [SeenNumber]
  }
  /// The result of receiving a message of an offer.
  enum Received {
    case unasked
    /// It names an impossible epoch or version; nothing of it counts.
    case refused
    /// More messages follow.
    case part
    /// The offer is complete, but for N rejected fields.
    case whole(RecoveryPoint, refusedFields: Int)
  }
  let endsAt: UInt64
  var lastJoinAt: UInt64
  /// Whether any peer was asked; else the recovery only waits for peers that might have a replica.
  private(set) var hasAsked = false
  /// Asked sessions whose answer is not complete.
  private var questions: [SessionID: Question] = [:]
  /// At most `AskedReplicas.mostInAll`, in the order of their arrival.
  private var replicas: [Replica] = []
  /// The store was recreated: peers may offer old replicas, so a model is taken whole from the one furthest ahead.
  private let isRecreated: Bool
  /// What `merge` has returned, as long as it holds.
  private var merged: MergedReplicas?

  init(now: UInt64, limitMilliseconds: UInt64, isRecreated: Bool = false) {
    self.isRecreated = isRecreated
    endsAt = now + limitMilliseconds
    lastJoinAt = now
  }

  mutating func ask(_ session: SessionID, request: UInt32, at point: RecoveryPoint, now: UInt64) {
    questions[session] = Question(request: request, point: point)
    hasAsked = true
    lastJoinAt = now
  }

  /// Receives one message of an offer.
  mutating func receive(
    _ offer: Offer, from session: SessionID, _ offerer: Origin, _ standing: Standing, in epoch: Epoch, _ limits: Limits
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
    let fields = question.fields.filter { Recovery.isAcceptable($0, at: point, limits) }
    refused += question.fields.count - fields.count
    // The writer of a field was seen too; an older peer reports nothing else.
    let written = question.fields.lazy.map { SeenNumber(tag: $0.origin.tag, number: $0.number) }
    let numbers = written.prefix(SeenNumber.maxCount) + (offer.numbers ?? []).prefix(SeenNumber.maxCount)
    replicas.append(
      Replica(
        session: session, offerer: offerer, standing: standing, point: point, fields: fields,
        numbers: numbers.filter { $0.tag != .none && $0.number > 0 }))
    merged = nil
    return .whole(point, refusedFields: refused)
  }

  /// Merges the replicas whose peers may be believed.
  /// - Parameter isBelieved: whether a peer of that standing may be. Once one was, it is asked again only after
  ///   `forgetMerged` or a further replica.
  /// - Returns: nil: there is none.
  mutating func merge(isBelieved: (Standing) -> Bool) -> MergedReplicas? {
    guard merged == nil else { return merged }
    for replica in replicas where isBelieved(replica.standing) {
      if merged == nil {
        merged = MergedReplicas(replica)
      } else {
        merged?.merge(replica, isWhole: isRecreated)
      }
    }
    return merged
  }

  /// Others may be believed from now on.
  mutating func forgetMerged() { merged = nil }

  /// Applies the rules for names in proposals, the current limits, and the replica's version.
  private static func isAcceptable(_ field: OfferedField, at point: RecoveryPoint, _ limits: Limits) -> Bool {
    guard field.version > 0, field.version <= point.version,
      field.name == Names.description || !field.name.hasPrefix("@")
    else { return false }
    guard let value = field.value else { return true }
    guard value.bytes.count <= limits.maxBytes(of: field.name) else { return false }
    return value.bytes.withUnsafeBytes { bytes in
      guard JSON.isValid(bytes), ListElements.parts(of: field.name) == nil || ListElements.stored(bytes) != nil else {
        return false
      }
      return field.name != Names.description || (try? ModelRules(describedBy: bytes, isNew: false)) != nil
    }
  }

  /// - Returns: the position of the replica that is no longer awaited.
  mutating func forget(_ session: SessionID) -> RecoveryPoint? { questions.removeValue(forKey: session)?.point }

  /// Whether the session's offer of this replica has arrived.
  func hasAnswer(of session: SessionID, at point: RecoveryPoint) -> Bool {
    replicas.last { $0.session == session }?.point == point
  }

  func isOver(now: UInt64, quietMilliseconds: UInt64) -> Bool {
    now >= endsAt || !isRecreated && (questions.isEmpty && now >= lastJoinAt + quietMilliseconds)
  }

  func nextDeadline(quietMilliseconds: UInt64) -> UInt64 {
    questions.isEmpty && !isRecreated ? min(endsAt, lastJoinAt + quietMilliseconds) : endsAt
  }
}

/// What believed replicas have together. For each field the highest old version wins, whichever peer offers it. It is
/// committed under the offering peer's name, because its writer cannot be proven.
struct MergedReplicas {
  /// An offered field.
  struct Field {
    let name: String
    let point: RecoveryPoint
    /// nil: deleted.
    let value: FieldValue?
    /// The claimed writer and proposal number.
    let tag: Tag
    let number: ProposalNumber
    let offerer: Origin

    fileprivate init(_ field: OfferedField, at point: RecoveryPoint, offerer: Origin) {
      (name, value, tag, number) = (field.name, field.value, field.origin.tag, field.number)
      (self.point, self.offerer) = (point, offerer)
    }
  }
  private(set) var fields: [String: Field] = [:]
  /// By writer: the highest number that the replicas have seen.
  private(set) var numbers: [Tag: ProposalNumber] = [:]
  /// The replica furthest ahead, and the fields it names: the others had been deleted by then.
  private(set) var furthest: (point: RecoveryPoint, offerer: Origin, names: Set<String>)

  fileprivate init(_ replica: Recovery.Replica) {
    furthest = MergedReplicas.place(of: replica)
    add(replica)
  }

  /// - Parameter isWhole: whether the fields are those of the replica furthest ahead alone.
  fileprivate mutating func merge(_ replica: Recovery.Replica, isWhole: Bool) {
    let isFurthest = furthest.point < replica.point
    if isWhole {
      guard isFurthest else { return }
      fields.removeAll()
    }
    if isFurthest { furthest = MergedReplicas.place(of: replica) }
    add(replica)
  }

  private mutating func add(_ replica: Recovery.Replica) {
    for field in replica.fields {
      let point = replica.point.at(field.version)
      if let known = fields[field.name], known.point >= point { continue }
      fields[field.name] = Field(field, at: point, offerer: replica.offerer)
    }
    for seen in replica.numbers { numbers[seen.tag] = max(numbers[seen.tag] ?? 0, seen.number) }
  }

  private static func place(
    of replica: Recovery.Replica
  ) -> (point: RecoveryPoint, offerer: Origin, names: Set<String>) {
    (replica.point, replica.offerer, Set(replica.fields.lazy.map(\.name)))
  }
}

/// What a model recovers from replicas, and has recovered.
struct ModelRecovery {
  var underWay: Recovery?
  /// Replicas that this hub has asked for in the current epoch.
  var asked = AskedReplicas()
  /// The furthest point of an old epoch that the store had when the current one began. Only later replicas can help.
  var storedFrom: RecoveryPoint?
  var broughtBack = BroughtBack()
}

/// The positions in an old epoch from which fields were recovered into this one, by field id; a later offer must be
/// beyond them.
struct BroughtBack {
  private struct Entry {
    var version: Version = 0
    var point = RecoveryPoint.beginning
  }
  private var entries: [Entry] = []

  /// nil: the field's value at this version was not recovered.
  func point(of id: FieldID, at version: Version) -> RecoveryPoint? {
    guard Int(id) < entries.count, entries[Int(id)].version == version, version > 0 else { return nil }
    return entries[Int(id)].point
  }

  mutating func record(_ id: FieldID, at version: Version, from point: RecoveryPoint) {
    while entries.count <= Int(id) { entries.append(Entry()) }
    entries[Int(id)] = Entry(version: version, point: point)
  }

  /// The fields were renumbered; these remain.
  mutating func keep(_ kept: [FieldID]) {
    entries = kept.prefix { Int($0) < entries.count }.map { entries[Int($0)] }
  }
}
