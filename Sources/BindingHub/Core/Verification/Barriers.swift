import BindingProtocol

/// A session's request to be notified when other peers have applied a version of a model.
struct Barrier {
  let session: SessionID
  let request: UInt32
  let version: Version
  /// The number of sessions that must have the version; nil: all that had joined the model at the request and are
  /// still there.
  let count: Int?
  let deadline: UInt64
  /// Sessions that had joined at the request and have not reported the version.
  var waiting: Set<SessionID>
  var applied: Set<SessionID> = []

  /// The number of sessions that it waits for.
  var wanted: Int { count ?? waiting.count + applied.count }

  var isComplete: Bool { applied.count >= wanted }
}

/// All barriers of a hub. The caller bounds their number.
struct Barriers {
  /// By the model's index.
  private var byModel: [Int: [Barrier]] = [:]
  private var bySession: [SessionID: Int] = [:]
  private(set) var count = 0
  /// When the first of them times out.
  private(set) var nextDeadline = UInt64.max
  private var isChanged = false

  var isEmpty: Bool { count == 0 }

  func count(of session: SessionID) -> Int { bySession[session] ?? 0 }

  /// The models with barriers, ordered by index, each with the lowest version awaited.
  var asked: [(model: Int, version: Version)] {
    byModel.sorted { $0.key < $1.key }.compactMap { model, list in
      list.lazy.map(\.version).min().map { (model, $0) }
    }
  }

  /// Adds a barrier. It replaces one of the same session and request number, which the session has repeated.
  mutating func add(_ barrier: Barrier, to model: Int) {
    byModel[model, default: []].removeAll { $0.session == barrier.session && $0.request == barrier.request }
    byModel[model, default: []].append(barrier)
    recordChange()
  }

  /// A session has applied this version of a model.
  mutating func reached(_ version: Version, of model: Int, by session: SessionID) {
    guard var list = byModel[model] else { return }
    for index in list.indices where list[index].version <= version && !list[index].applied.contains(session) {
      guard list[index].waiting.remove(session) != nil || list[index].count != nil else { continue }
      list[index].applied.insert(session)
      isChanged = true
    }
    byModel[model] = list
  }

  /// A session has ended or left a model: it no longer waits and is no longer awaited.
  /// - Parameter model: the model's index; nil: all models.
  mutating func forget(_ session: SessionID, in model: Int? = nil) {
    for index in model.map({ [$0] }) ?? Array(byModel.keys) {
      guard var list = byModel[index] else { continue }
      list.removeAll { $0.session == session }
      for at in list.indices {
        list[at].waiting.remove(session)
        list[at].applied.remove(session)
      }
      byModel[index] = list
    }
    recordChange()
  }

  /// Removes and returns the barriers that are complete or have timed out.
  mutating func takeEnded(now: UInt64) -> [Barrier] {
    guard isChanged || nextDeadline <= now else { return [] }
    var ended: [Barrier] = []
    for model in byModel.keys.sorted() {
      ended += byModel[model]?.filter { $0.isComplete || $0.deadline <= now } ?? []
      byModel[model]?.removeAll { $0.isComplete || $0.deadline <= now }
    }
    recordChange()
    isChanged = false
    return ended
  }

  mutating func takeAll() -> [Barrier] {
    defer { self = Barriers() }
    return byModel.sorted { $0.key < $1.key }.flatMap(\.value)
  }

  private mutating func recordChange() {
    isChanged = true
    byModel = byModel.filter { !$0.value.isEmpty }
    bySession.removeAll()
    (count, nextDeadline) = (0, .max)
    for barrier in byModel.values.joined() {
      bySession[barrier.session, default: 0] += 1
      nextDeadline = min(nextDeadline, barrier.deadline)
      count += 1
    }
  }
}
