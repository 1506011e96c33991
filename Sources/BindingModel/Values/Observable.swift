/// A value that notifies its observers when it changes: the source of truth that bindings point at.
///
/// - Any thread may read and write if the value is `Sendable`. Observers run on the writing thread; when two threads
///   write concurrently, one of them delivers for both. All observers receive all values in the order of the writes.
/// - A new observer receives the current value before `observe` returns.
/// - A write made inside an observer is queued: every observer first receives the value of the current turn.
/// - An `Observable` owns its value. Bindings, tokens and observers do not keep it alive. When it is deallocated, its
///   observers are released, its async sequences finish, and bindings to it show the last value.
public final class Observable<Value> {
  @usableFromInline let cell: Cell<Value>

  /// Creates an observable with an initial value.
  ///
  /// - Parameters:
  ///   - value: the initial value.
  ///   - filter: which writes count as a change.
  @inlinable
  public init(_ value: Value, filter: ChangeFilter<Value>) {
    cell = Cell(value, filter: filter)
  }

  /// Creates an observable that delivers every write, because its values cannot be compared.
  @inlinable
  public convenience init(_ value: Value) { self.init(value, filter: .everyWrite) }

  /// Creates an observable on which a write of an equal value changes nothing. Pass `filter: .everyWrite` to deliver
  /// every write.
  @inlinable
  public convenience init(_ value: Value) where Value: Equatable { self.init(value, filter: .changes) }

  /// Creates an observable of a number, on which a write of an equal value changes nothing, nor does NaN over NaN.
  @inlinable
  public convenience init(_ value: Value) where Value: FloatingPoint { self.init(value, filter: .changes) }

  @inlinable
  deinit { cell.end() }

  /// The current value. Setting it notifies observers, in a turn of its own or at the end of the current one. A read
  /// inside `withObservationTracking`, or in a SwiftUI view, is tracked.
  ///
  /// `value += 1` is a read followed by a write; use `update` if several threads do so concurrently.
  @inlinable
  public var value: Value {
    get {
      cell.track()
      return cell.read()
    }
    set { _ = cell.store(newValue, by: .unnamed) }
  }

  /// Sets the value on behalf of `writer`, so that this writer's observers can leave out the echo.
  @inlinable
  public func set(_ value: Value, by writer: Writer) { _ = cell.store(value, by: writer) }

  /// Sets the value without notifying observers. Later reads, writes and new observers see it.
  @inlinable
  public func setSilently(_ value: Value) { _ = cell.storeSilently(value) }

  /// Reads, changes and writes the value atomically: no concurrent write is lost.
  ///
  /// `body` works on a copy with no lock held, and runs again on the newer value if another thread wrote meanwhile,
  /// so it should only compute. If it throws, nothing changes.
  @inlinable @discardableResult
  public func update<Result, Failure: Error>(
    by writer: Writer = .unnamed, _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var outcome: Swift.Result<Result, Failure>?
    _ = cell.change(by: writer) { value in
      do throws(Failure) {
        outcome = .success(try body(&value))
        return true
      } catch {
        outcome = .failure(error)
        return false
      }
    }
    if let outcome { return try outcome.get() }
    // Only a cell whose owner is gone does not run the body, and this is the owner.
    var last = cell.read()
    return try body(&last)
  }

  /// The number of writes coalesced because more than `Turn.backlogLimit` were undelivered; 0 in a healthy program.
  public var coalescedWrites: UInt64 { cell.coalescedWrites }
}

extension Observable: Sendable where Value: Sendable {}

// MARK: - Observing

extension Observable {
  /// Observes until the token is cancelled or released. The body receives the current value now, and later values as
  /// they are written.
  ///
  /// - Parameters:
  ///   - writes: which writes to deliver; `.others(than:)` leaves out one's own.
  ///   - body: runs on the writing thread; its calls never overlap. It cannot access an actor's state: use
  ///     `observeOnMain` or `observe(isolation: #isolation)` for that.
  public func observe(
    from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    if case .all = writes { return cell.add(Observer(owner: nil, body: body), cancelsWhenReleased: true) }
    return cell.observe(owner: nil, writes.body(body))
  }

  /// Observes until `owner`, which is held weakly, is deallocated or passed to `remove(observer:)`.
  ///
  /// A body that uses the owner should take it as its first argument, or capture it weakly: a strong capture lives as
  /// long as the observable.
  @discardableResult
  public func observe(
    on owner: AnyObject, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    if case .all = writes { return cell.add(Observer(owner: owner, body: body), cancelsWhenReleased: false) }
    return cell.observe(owner: owner, writes.body(body))
  }

  /// Observes until `owner`, which is held weakly, is deallocated, and passes it to the body.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    on owner: Owner, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Owner, Value) -> Void
  ) -> ObserverToken {
    cell.observe(owner: owner, writes.body(for: owner, body))
  }

  /// Ends every observation of this owner made here, or through a binding to this value or to a part of it.
  public func remove(observer owner: AnyObject) { cell.removeObservers(of: owner) }

  /// A borrowed, read-write view of this value. It does not keep the observable alive.
  @inlinable
  public var binding: Binding<Value> { Binding(cell) }
}

extension ObservedWrites {
  func body<Value>(_ body: @escaping @Sendable (Value) -> Void) -> @Sendable (Value, Writer) -> Void {
    switch self {
    case .all: { value, _ in body(value) }
    case .others(let own): { value, writer in if writer != own { body(value) } }
    }
  }

  func body<Owner: AnyObject & Sendable, Value>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, Value) -> Void
  ) -> @Sendable (Value, Writer) -> Void {
    self.body { [weak owner] value in
      if let owner { body(owner, value) }
    }
  }
}
