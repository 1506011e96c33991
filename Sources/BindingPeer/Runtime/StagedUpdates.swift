import BindingModel
import BindingProtocol

/// The observers of a model's updates, and the undelivered updates.
struct StagedUpdates: Sendable {
  struct Observer: Sendable {
    /// It receives updates with a later stamp; earlier ones are in its first update.
    let since: UInt64
    let body: @Sendable (ModelUpdate, _ missed: UInt64) -> Void
  }
  private var observers: [UInt64: Observer] = [:]
  private var due: [(update: ModelUpdate, stamp: UInt64)] = []
  /// The first update of each new observer, by its number.
  private var beginnings: [(observer: UInt64, update: ModelUpdate)] = []
  private var missed: UInt64 = 0

  var isSomethingDue: Bool { !due.isEmpty || !beginnings.isEmpty }

  mutating func stage(_ update: ModelUpdate, stamp: UInt64) {
    guard !observers.isEmpty else { return }
    if due.count >= SharedModel.maxWaitingUpdates {
      due.removeFirst()
      missed += 1
    }
    due.append((update, stamp))
  }

  mutating func add(_ observer: Observer, number: UInt64, beginning: ModelUpdate?) {
    observers[number] = observer
    if let beginning { beginnings.append((number, beginning)) }
  }

  mutating func remove(_ number: UInt64) -> Observer? { observers.removeValue(forKey: number) }

  /// The observers, with what they have to receive.
  mutating func takeDue() -> StagedUpdates {
    let taken = self
    due = []
    beginnings = []
    missed = 0
    return taken
  }

  func notify() {
    for (number, update) in beginnings { observers[number]?.body(update, 0) }
    for (index, (update, stamp)) in due.enumerated() {
      for observer in observers.values where stamp > observer.since {
        observer.body(update, index == 0 ? missed : 0)
      }
    }
  }
}

extension ModelObservers {
  /// Adds an observer of the present state and of each later update.
  func add(_ body: @escaping @Sendable (ModelUpdate, _ missed: UInt64) -> Void) -> ObserverToken {
    // The lock under which updates are staged: none is lost between the present state and the first update.
    let number = runtime.state.withLock { state in
      let beginning = state.session.present(id)
      let observer = StagedUpdates.Observer(since: state.stamp, body: body)
      return staged.withLock { staged in
        let number = staged.numberObserver()
        staged.updates.add(observer, number: number, beginning: beginning)
        return number
      }
    }
    return ObserverToken { [weak self] in
      _ = self?.staged.withLock { $0.updates.remove(number) }
    }
  }
}
