import BindingProtocol

/// A session's request to hear when others have applied a version of a model.
struct Barrier {
  let session: SessionID
  let request: UInt32
  let version: Version
  /// How many have to have it; nil: all that had joined the model when it was asked, and live on.
  let count: Int?
  let deadline: UInt64
  /// Sessions that were there when it was asked and have not said that they have the version.
  var waiting: Set<SessionID>
  var applied: Set<SessionID> = []

  /// How many it waits for.
  var wanted: Int { count ?? waiting.count + applied.count }

  var isComplete: Bool { applied.count >= wanted }
}

/// All barriers of a hub: who waits, for whom, until when. Bounded by whoever adds to it.
struct Barriers {
  /// By the model's place.
  private var byModel: [Int: [Barrier]] = [:]
  private var bySession: [SessionID: Int] = [:]
  private(set) var count = 0
  /// When the first of them is out of time.
  private(set) var nextDeadline = UInt64.max
  private var isChanged = false

  var isEmpty: Bool { count == 0 }

  func count(of session: SessionID) -> Int { bySession[session] ?? 0 }

  /// The models somebody waits for, in the order of their places, with the lowest version that is waited for.
  var asked: [(model: Int, version: Version)] {
    byModel.sorted { $0.key < $1.key }.compactMap { model, list in
      list.lazy.map(\.version).min().map { (model, $0) }
    }
  }

  /// One that is there already under this number is replaced: its session asks again.
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

  /// A session has ended, or left a model: it is waited for no longer, and waits no longer itself.
  /// - Parameter model: nil: all of them.
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

  /// Takes out those that are complete, or whose time is over.
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
