/// A value, its lock, and its observers with one drainer.
///
/// All bindings to a value share its cell. Only the owner's end (`end()`) releases the observers: a binding keeps the
/// cell's memory alive, but no observer and nothing that an observer captures.
///
/// No lock is held while user code runs: observers, `update` bodies, filters and deinitializers of old values. The
/// one exception is `==` of a type that is plain bits.
@usableFromInline
// SAFETY: `value` is accessed under the lock only. A cell of a value that is not Sendable is reached only through
// `Observable` and `Binding`, which are then not Sendable either.
final class Cell<Value>: AnyCell, @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var value: Value
  /// Which writes change nothing; nil for none. The traffic records whether the filter must run without the lock,
  /// which saves eight bytes in every cell; a filter by the type's own equality needs no traffic.
  @usableFromInline let isRepeat: ((Value, Value) -> Bool)?

  @inlinable
  init(_ value: Value, filter: ChangeFilter<Value>) {
    self.value = value
    var isForeign = false
    switch filter.rule {
    case .everyWrite:
      isRepeat = nil
    case .equality(let isEqual):
      isRepeat = isEqual
    case .repeated(let closure):
      isRepeat = closure
      isForeign = true
    }
    super.init()
    assert(
      !PlainBits.areAtomic(Value.self)
        || withUnsafeMutablePointer(to: &self.value) { UnsafeMutableRawPointer($0) } == valueAddress)
    if isForeign { openTraffic().pointee.isFilterForeign = true }
  }

  @inlinable
  func read() -> Value {
    if PlainBits.areAtomic(Value.self) { return PlainBits.load(from: valueAddress, as: Value.self) }
    lock()
    let value = self.value
    unlock()
    return value
  }

  // MARK: Writing

  /// Writes the value, and delivers it unless another thread is delivering. False if the owner is gone: then nothing
  /// changed.
  ///
  /// - Parameter isErased: whether to call observers without the value's static type, which is faster where the
  ///   compiler does not know the type, as behind `any BindingLocation`.
  @inlinable
  func store(_ new: Value, by writer: Writer, isErased: Bool = false) -> Bool {
    lock()
    guard let traffic else {
      if isRepeat != nil {
        guard _isPOD(Value.self) else {
          unlock()
          return storeUnobserved(new, by: writer, isErased: isErased)
        }
        if isSameUnobserved(new) {
          unlock()
          return true
        }
      }
      let old = exchange(for: new)
      unlock()
      _ = consume old
      return true
    }
    if traffic.pointee.isEnded {
      unlock()
      return false
    }
    if isRepeat != nil {
      guard _isPOD(Value.self), !traffic.pointee.isFilterForeign else {
        unlock()
        return storeUnlessRepeated(new, by: writer, isErased: isErased)
      }
      if isRepeated(value, new, isRepeat) {
        unlock()
        return true
      }
    }
    commit(new, by: writer, isErased: isErased, traffic)
    return true
  }

  /// Changes the value by a function of it, atomically: `body` runs on a copy, and again if another thread wrote
  /// meanwhile.
  ///
  /// - Parameter body: returns false to leave the value unchanged.
  /// - Returns: false if the owner is gone.
  @inlinable
  func change(by writer: Writer, isErased: Bool = false, _ body: (inout Value) -> Bool) -> Bool {
    while true {
      lock()
      let traffic = openTraffic()
      guard !traffic.pointee.isEnded else {
        unlock()
        return false
      }
      let present = value
      let version = traffic.pointee.version
      unlock()
      var changed = present
      guard body(&changed) else { return true }
      if isRepeated(present, changed, isRepeat) { return true }
      if commit(changed, by: writer, isErased: isErased, ifStill: version) { return true }
    }
  }

  /// Changes the value without notifying observers. False if the owner is gone.
  @usableFromInline
  func storeSilently(_ new: Value) -> Bool {
    lock()
    if let traffic {
      if traffic.pointee.isEnded {
        unlock()
        return false
      }
      traffic.pointee.version &+= 1
      if traffic.pointee.isLastPresent { keepOverwritten(value, traffic) }
    }
    let old = exchange(for: new)
    unlock()
    return withExtendedLifetime(old) { true }
  }

  /// Writes if the version is unchanged. Also true if the owner is gone, because then there is nothing to retry.
  @inlinable
  func commit(_ new: Value, by writer: Writer, isErased: Bool, ifStill version: UInt64) -> Bool {
    lock()
    let traffic = openTraffic()
    guard !traffic.pointee.isEnded, traffic.pointee.version == version else {
      let isOver = traffic.pointee.isEnded
      unlock()
      return isOver
    }
    commit(new, by: writer, isErased: isErased, traffic)
    return true
  }

  /// Stores, unlocks, delivers. Called with the lock held.
  @inlinable
  func commit(_ new: Value, by writer: Writer, isErased: Bool, _ traffic: UnsafeMutablePointer<Traffic>) {
    // Released after unlocking: its deinit may run user code.
    let old = exchange(for: new)
    defer { withExtendedLifetime(old) {} }
    traffic.pointee.version &+= 1
    guard !traffic.pointee.observers.isEmpty else { return unlock() }
    deliver(new, over: old, by: writer, isErased: isErased, traffic)
  }

  /// Delivers the value just stored over `old`, or arranges its delivery. Called with the lock held; unlocks.
  @inlinable @inline(__always)
  func deliver(
    _ new: Value, over old: Value, by writer: Writer, isErased: Bool, _ traffic: UnsafeMutablePointer<Traffic>
  ) {
    let turn = ThreadTurn.current
    guard traffic.pointee.isClear, turn.pointee.isIdle else {
      return deliverLater(over: old, by: writer, traffic, turn)
    }
    // The common case: no delivery is in progress, here or on another thread.
    turn.pointee.progress.cascade &+= 1
    traffic.pointee.deliverer = turn.pointee.id
    traffic.pointee.soleWriter = writer
    let observers = traffic.pointee.observers.joined
    unlock()
    turn.pointee.isDelivering = true
    if isErased {
      _ = withUnsafePointer(to: new) { callBack(observers, with: $0, by: writer) }
    } else {
      callBack(observers, new, by: writer)
    }
    finishRound(traffic, turn)
    turn.pointee.isDelivering = false
    if !turn.pointee.isEmpty { ThreadTurn.drainIfIdle(turn) }
  }

  /// Stores a new value and returns the old one. Called with the lock held.
  @inlinable @inline(__always)
  func exchange(for new: Value) -> Value {
    if PlainBits.areAtomic(Value.self) {
      let old = value
      PlainBits.store(new, at: valueAddress)
      return old
    }
    // `swap` takes three moves and a call where the compiler does not know the type.
    return withUnsafeMutablePointer(to: &value) { pointer in
      let old = pointer.move()
      pointer.initialize(to: new)
      return old
    }
  }

  /// The address of a value that is atomic plain bits. Like the lock's, it is computed.
  @inlinable @inline(__always)
  var valueAddress: UnsafeMutableRawPointer {
    // SAFETY: the value follows the properties of the superclass, of which the last is a pointer; its alignment is no
    // larger than a pointer's. `init` asserts it.
    UnsafeMutableRawPointer(lockAddress) + AnyCell.lockStride + MemoryLayout<UnsafeRawPointer>.stride
  }

  // MARK: Delivering

  /// One round: calls each of these observers in order, with the value's type known.
  @inlinable @inline(__always)
  func callBack(_ observers: ObserverList.Members, _ value: Value, by writer: Writer) {
    observers.withUnsafeBufferPointer { buffer in
      // SAFETY: a reference has the layout of an unmanaged one, and the list, of which this round has its own copy,
      // keeps the observations alive.
      buffer.withMemoryRebound(to: Unmanaged<AnyObserver>.self) { buffer in
        for unmanaged in buffer {
          unmanaged._withUnsafeGuaranteedRef { observation in
            if observation.marks == 0 {
              // SAFETY: only observers of the cell's own value type have no marks.
              Unmanaged<Observer<Value>>.fromOpaque(unmanaged.toOpaque())._withUnsafeGuaranteedRef { $0.body(value) }
            } else if !withUnsafePointer(to: value, { observation.deliver($0, by: writer) }) {
              cancel(observation.number)
            }
          }
        }
      }
    }
  }

  @usableFromInline
  override func deliverNext(in turn: UnsafeMutablePointer<ThreadTurn>) {
    lock()
    guard let traffic else { return unlock() }
    let cancelled = traffic.pointee.observers.takeCancelledElsewhere()
    guard let next = traffic.pointee.undelivered.popFirst() else {
      // The owner is gone, and the undelivered values with it.
      traffic.pointee.deliverer = 0
      unlock()
      return withExtendedLifetime(cancelled) {}
    }
    let value = takeNextValue(traffic)
    unlock()
    withExtendedLifetime(cancelled) {}
    turn.pointee.watch?.begin(self, cause: next.cause)
    turn.pointee.hops = next.hops
    _ = withUnsafePointer(to: value) { callBack(next.observers, with: $0, by: next.writer) }
    finishRound(traffic, turn)
  }

  /// The value of the delivery just taken from the queue.
  private func takeNextValue(_ traffic: UnsafeMutablePointer<Traffic>) -> Value {
    if traffic.pointee.isLastPresent, traffic.pointee.undelivered.isEmpty {
      traffic.pointee.isLastPresent = false
      return value
    }
    return overwritten(traffic).values.popFirst() ?? value
  }

  /// Keeps a value that is being overwritten, for delivery. Called with the lock held.
  @usableFromInline
  func keepOverwritten(_ old: Value, _ traffic: UnsafeMutablePointer<Traffic>) {
    overwritten(traffic).values.append(old)
    traffic.pointee.isLastPresent = false
  }

  private func overwritten(_ traffic: UnsafeMutablePointer<Traffic>) -> ValueQueue<Value> {
    if let queue = traffic.pointee.overwritten {
      // SAFETY: a cell creates queues of its own value type only.
      return unsafeDowncast(queue, to: ValueQueue<Value>.self)
    }
    let queue = ValueQueue<Value>()
    traffic.pointee.overwritten = queue
    return queue
  }

  override var outline: String { BindingModel.outline(of: read()) }

  override func takeLastOverwritten() -> AnyObject? {
    guard let traffic else { return nil }
    let dropped = ValueQueue<Value>()
    if let last = overwritten(traffic).values.popLast() { dropped.values.append(last) }
    return dropped
  }

  override func giveToStarting(by writer: Writer, version: UInt64, hops: UInt8) {
    guard let traffic else { return }
    for observation in traffic.pointee.observers.starting where observation.since < version {
      // SAFETY: a cell creates observers of its own value type only.
      let observation = unsafeDowncast(observation, to: Observer<Value>.self)
      if observation.early.count < Turn.backlogLimit {
        observation.early.append(EarlyValue(value: value, writer: writer, hops: hops))
      } else {
        let former = observation.early.last?.hops ?? 0
        observation.early.last = EarlyValue(value: value, writer: writer, hops: max(hops, former))
        traffic.pointee.coalescedWrites += 1
      }
    }
  }
}
