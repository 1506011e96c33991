import BindingModel

/// The observed statuses of a model, and whether one may have changed.
struct StagedStatuses: Sendable {
  private(set) var reporters: [ObjectIdentifier: WeakReporter] = [:]
  private var lastReporter: UInt64 = 0
  private(set) var isDue = false

  mutating func add(_ reporter: any StatusReporter) {
    lastReporter += 1
    reporters[ObjectIdentifier(reporter)] = WeakReporter(number: lastReporter, reporter: reporter)
  }

  /// A reporter that is observed again meanwhile has another number, and stays.
  mutating func remove(_ ended: [(reporter: ObjectIdentifier, number: UInt64)]) {
    for (id, number) in ended where reporters[id]?.number == number { reporters[id] = nil }
  }

  mutating func markDue() { if !reporters.isEmpty { isDue = true } }

  /// nil: none is due.
  mutating func takeDue() -> [ObjectIdentifier: WeakReporter]? {
    defer { isDue = false }
    return isDue ? reporters : nil
  }
}

struct WeakReporter: Sendable {
  let number: UInt64
  weak var reporter: (any StatusReporter)?
}

extension ModelObservers {
  /// From now on `reporter` is asked to report whenever its status may have changed.
  func register(_ reporter: any StatusReporter) {
    runtime.state.withLock { state in
      state.observed.models.insert(id)
      staged.withLock { $0.statuses.add(reporter) }
    }
  }

  /// Marks the statuses as possibly changed: they are reported with the next delivery.
  func invalidateStatuses() {
    let reporters = staged.withLock { staged in
      staged.statuses.markDue()
      return staged.statuses.reporters
    }
    for weak in reporters.values { weak.reporter?.invalidate() }
  }

  /// Reports within the turn of a delivery, and removes reporters without observers.
  func report(_ reporters: [ObjectIdentifier: WeakReporter]) {
    var ended: [(reporter: ObjectIdentifier, number: UInt64)] = []
    for (id, weak) in reporters {
      guard let reporter = weak.reporter, reporter.isObserved else {
        ended.append((id, weak.number))
        continue
      }
      reporter.report()
    }
    guard !ended.isEmpty else { return }
    runtime.state.withLock { state in
      let isAlone = staged.withLock { staged in
        staged.statuses.remove(ended)
        return staged.statuses.reporters.isEmpty
      }
      if isAlone { state.observed.models.remove(id) }
    }
  }
}
