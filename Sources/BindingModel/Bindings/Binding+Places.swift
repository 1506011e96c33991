extension Binding where Value: Sendable {
  /// Creates a binding to a value of your own on the main actor, by two closures:
  /// `Binding(get: { user.name }, set: { user.name = $0 })`.
  ///
  /// - `set` runs on the main actor: before the write returns if that is made there, else when the main actor runs
  ///   it.
  /// - A read elsewhere returns the value last read or written.
  /// - Observers are notified of writes through this binding and its copies. For a value that changes by itself, use
  ///   an `Observable`, or a `BindingLocation` of your own.
  @MainActor
  public init(get: @escaping @MainActor () -> Value, set: @escaping @MainActor (Value) -> Void) {
    self.init(ClosureLocation(get: get, set: set))
  }

  /// A binding to a value that never changes: for previews, tests, and code that requires a binding. Writes are
  /// refused.
  public static func constant(_ value: Value) -> Binding { Binding(ConstantLocation(value: value)) }
}

private struct ClosureLocation<Value: Sendable>: BindingLocation {
  private let get: @MainActor () -> Value
  private let set: @MainActor (Value) -> Void
  /// The value last read or written, with the observers.
  private let known: Observable<Value>

  @MainActor
  init(get: @escaping @MainActor () -> Value, set: @escaping @MainActor (Value) -> Void) {
    self.get = get
    self.set = set
    known = Observable(get(), filter: .everyWrite)
    known.cell.markFollower()
  }

  func track() { known.cell.track() }

  func read() -> Value {
    guard Lane.main.isCurrent else { return known.cell.read() }
    let value = MainActor.assumeIsolated { get() }
    // A derived value that is being computed would take this for a write.
    if ThreadTurn.current.pointee.collector == nil { known.setSilently(value) }
    return value
  }

  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    guard Lane.main.isCurrent else {
      known.set(value, by: writer)
      return Lane.main.run { MainActor.assumeIsolated { set(known.cell.read()) } }
    }
    let accepted = MainActor.assumeIsolated {
      set(value)
      return get()
    }
    known.set(accepted, by: writer)
  }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    var value = read()
    if body(&value) { try write(value, by: writer) }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    _ = read()
    return known.binding.location.observe(owner: owner, body)
  }

  func remove(observer owner: AnyObject) { known.remove(observer: owner) }
}

private struct ConstantLocation<Value: Sendable>: BindingLocation {
  let value: Value

  func read() -> Value { value }

  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    throw BindingError(.refused, "this value is a constant")
  }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    var changed = value
    if body(&changed) { try write(changed, by: writer) }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    body(value, .unnamed)
    return ObserverToken {}
  }

  func remove(observer owner: AnyObject) {}
}
