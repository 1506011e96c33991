/// A value that tells its observers when it changes: the source of truth that bindings point at.
///
/// - Any thread may read and write (when the value is Sendable). Observers run on the thread that writes; where two
///   threads write at once, one of them delivers for both. All observers get all values in one order, the order of the
///   writes.
/// - A new observer is called with the present value first, before `observe` returns.
/// - A write made inside an observer is queued: every observer gets the value of the turn under way first.
/// - An `Observable` owns its value. Bindings and tokens keep it alive no more than observers do; when it goes, its
///   observers are released, its async sequences finish, and bindings to it show the last value.
public final class Observable<Value> {
  @usableFromInline let cell: Cell<Value>

  /// - Parameters:
  ///   - value: the first value.
  ///   - filter: which writes count as a change.
  @inlinable
  public init(_ value: Value, filter: ChangeFilter<Value>) {
    cell = Cell(value, filter: filter)
  }

  /// Every write is delivered, because the values cannot be compared.
  @inlinable
  public convenience init(_ value: Value) { self.init(value, filter: .everyWrite) }

  /// A write of an equal value changes nothing. For every write, say `filter: .everyWrite`.
  @inlinable
  public convenience init(_ value: Value) where Value: Equatable { self.init(value, filter: .changes) }

  /// As above for a number; another NaN in place of NaN changes nothing either.
  @inlinable
  public convenience init(_ value: Value) where Value: FloatingPoint { self.init(value, filter: .changes) }

  @inlinable
  deinit { cell.end() }

  /// The present value. Setting it delivers, as a turn of its own or in the one under way. Read inside
  /// `withObservationTracking`, or in a SwiftUI view, it is tracked.
  ///
  /// `value += 1` reads, then writes; where several threads do so at once, use `update`.
  @inlinable
  public var value: Value {
    get {
      cell.track()
      return cell.read()
    }
    set { _ = cell.store(newValue, by: .unnamed) }
  }

  /// Sets the value in somebody's name, so that this writer can leave out the echo.
  @inlinable
  public func set(_ value: Value, by writer: Writer) { _ = cell.store(value, by: writer) }

  /// Sets the value and tells nobody. The next observer, reader or write finds it.
  @inlinable
  public func setSilently(_ value: Value) { _ = cell.storeSilently(value) }

  /// Reads, changes and writes as one: whatever other threads write meanwhile, nothing is lost.
  ///
  /// `body` works on a copy with no lock held. When another thread wrote meanwhile it runs again on the newer value,
  /// so let it do nothing but compute. If it throws, nothing is changed.
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
    // Only a cell whose owner is gone runs no body, and the owner is this.
    var last = cell.read()
    return try body(&last)
  }

  /// Writes that were folded because more than `Turn.backlogLimit` were undelivered; 0 in a healthy program.
  public var coalescedWrites: UInt64 { cell.coalescedWrites }
}

extension Observable: Sendable where Value: Sendable {}

// MARK: - Observing

extension Observable {
  /// Observes until the token is cancelled or released: the present value now, later ones as they are written.
  ///
  /// - Parameters:
  ///   - writes: leave out one's own with `.others(than:)`.
  ///   - body: runs on the writing thread; calls of it never overlap. What belongs to an actor it cannot touch: for
  ///     that there are `observeOnMain` and `observe(isolation: #isolation)`.
  public func observe(
    from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    if case .all = writes { return cell.add(Observer(owner: nil, body: body), cancelsWhenReleased: true) }
    return cell.observe(owner: nil, writes.body(body))
  }

  /// Observes as long as `owner` lives, which is held weakly, or until `remove(observer:)`.
  ///
  /// A body that uses the owner should take it as its first argument, or capture it weakly: captured strongly it would
  /// live as long as the observable.
  @discardableResult
  public func observe(
    on owner: AnyObject, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    if case .all = writes { return cell.add(Observer(owner: owner, body: body), cancelsWhenReleased: false) }
    return cell.observe(owner: owner, writes.body(body))
  }

  /// Observes as long as `owner` lives, and hands it to the body.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    on owner: Owner, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Owner, Value) -> Void
  ) -> ObserverToken {
    cell.observe(owner: owner, writes.body(for: owner, body))
  }

  /// Ends every observation of this owner, made here or through a binding to this value or a part of it.
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
