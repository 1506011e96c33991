/// The observers of a cell; accessed under the cell's lock.
@usableFromInline
struct ObserverList {
  @usableFromInline typealias Members = ContiguousArray<AnyObserver>

  /// In order of arrival, which is the order of delivery. A cancelled observer is replaced by `Self.gone` until half
  /// of all are gone: then the list is compacted. So cancelling all takes time in proportion to their number, in any
  /// order. A list without a live observer is empty.
  @usableFromInline var joined: Members = []
  /// Observers whose first callback is still running on the thread that added them.
  @usableFromInline var starting: Members = []
  /// Cancelled by other threads than the delivering one, which marks them before its next round.
  @usableFromInline var cancelledElsewhere: Members = []
  /// The numbers of `joined`, ascending, to search by.
  private var numbers: ContiguousArray<UInt64> = []
  private var goneCount = 0
  /// The number of observers ever added, from which they get their numbers.
  private var lastNumber: UInt64 = 0
  /// The version from which the latest observer started.
  private var latestStart: UInt64 = 0
  /// Dead owners are searched for when there are this many observers.
  private var pruneAt = 8

  init() {}

  @inlinable
  var isEmpty: Bool { joined.isEmpty && starting.isEmpty }

  var all: Members { joined + starting }

  /// The observers that existed before the write of this version.
  func joined(before version: UInt64) -> Members {
    latestStart < version ? joined : joined.filter { $0.since < version }
  }

  /// Marks, for the delivering thread, what others cancelled meanwhile. The caller releases them after unlocking.
  mutating func takeCancelledElsewhere() -> Members {
    guard !cancelledElsewhere.isEmpty else { return [] }
    let cancelled = cancelledElsewhere
    cancelledElsewhere = []
    for observation in cancelled { observation.cancel() }
    return cancelled
  }

  /// Removes the observer from the list, and marks it where the delivering thread may still call it. The caller
  /// releases it after unlocking.
  ///
  /// - Parameter isElsewhere: whether another thread delivers.
  @discardableResult
  mutating func cancel(_ number: UInt64, isElsewhere: Bool) -> AnyObserver? {
    guard let index = index(of: number) else {
      guard let index = starting.firstIndex(where: { $0.number == number }) else { return nil }
      // The thread of the first callback sees that it is no longer listed.
      return starting.remove(at: index)
    }
    let observation = joined[index]
    guard observation !== Self.gone else { return nil }
    joined[index] = Self.gone
    goneCount += 1
    if goneCount * 2 >= joined.count { closeUp() }
    markCancelled(observation, isElsewhere: isElsewhere)
    return observation
  }

  /// Removes all observers, which the caller releases after unlocking.
  mutating func cancelAll(isElsewhere: Bool) -> Members {
    let observations = all
    for observation in joined where observation !== Self.gone { markCancelled(observation, isElsewhere: isElsewhere) }
    (joined, numbers, goneCount, starting) = ([], [], 0, [])
    return observations
  }

  private mutating func markCancelled(_ observation: AnyObserver, isElsewhere: Bool) {
    if isElsewhere { cancelledElsewhere.append(observation) } else { observation.cancel() }
  }

  /// Numbers a new observer.
  mutating func number(_ observation: AnyObserver, since version: UInt64) {
    lastNumber += 1
    observation.number = lastNumber
    observation.since = version
    latestStart = version
  }

  /// Lists an observer whose first callback has run. Mostly it is the latest; one that arrived earlier, but whose
  /// callback took longer, is inserted before those that arrived after it.
  mutating func join(_ observation: AnyObserver) {
    guard let last = numbers.last, last > observation.number else {
      joined.append(observation)
      return numbers.append(observation.number)
    }
    let index = firstIndex(from: observation.number)
    joined.insert(observation, at: index)
    numbers.insert(observation.number, at: index)
  }

  /// Observers to check for dead owners, if there are many.
  var toPrune: Members { joined.count >= pruneAt ? joined : [] }

  mutating func planPruning() { pruneAt = max(8, joined.count * 2) }

  private func index(of number: UInt64) -> Int? {
    let index = firstIndex(from: number)
    return index < numbers.count && numbers[index] == number ? index : nil
  }

  private func firstIndex(from number: UInt64) -> Int {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func closeUp() {
    var (live, liveNumbers) = (Members(), ContiguousArray<UInt64>())
    live.reserveCapacity(joined.count - goneCount)
    liveNumbers.reserveCapacity(joined.count - goneCount)
    for (observation, number) in zip(joined, numbers) where observation !== Self.gone {
      live.append(observation)
      liveNumbers.append(number)
    }
    (joined, numbers, goneCount) = (live, liveNumbers, 0)
  }

  /// Stands in for a removed observer: cancelled from the beginning.
  private static let gone: AnyObserver = {
    let gone = AnyObserver(owner: nil, isPlain: false)
    gone.cancel()
    return gone
  }()
}
