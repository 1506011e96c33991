/// A place where a value lives, for a `Binding` to point at: an observable, a member of one, a mapped value, or a
/// place of your own (a shared field, a settings store).
///
/// What a location promises, for bindings to compose:
/// - Any thread may call any of these, also from inside an observer. No lock is held while a body runs.
/// - `read` gives what was written last, at once, whether or not observers have been told.
/// - `observe` calls the body with the present value before it returns, once, unless the location has ended; then with
///   later values in the order of their writes. Values may be skipped, but never the last one. Calls of one body never
///   overlap, and each happens before the next, so that a body may keep what it saw last without a lock.
/// - A write made inside an observer is delivered after the turn under way; `Turn.run` groups.
/// - The writer of a write is passed on to the bodies, or `.unnamed` where it is not known.
/// - When the location ends, it releases the bodies: that is how async sequences finish.
/// - Whoever holds a location keeps no owner of the value alive.
public protocol BindingLocation<Value>: Sendable {
  associatedtype Value

  /// The present value; after the end, the last one.
  func read() -> Value

  /// Tells `withObservationTracking`, where the caller runs inside one, that the value is being read. Implemented
  /// already, to tell nothing.
  func track()

  /// What the value belongs to now. It is another object when the location comes to point at another place, as that of
  /// `flattened()` does: then what a person is typing was meant for the former. Implemented already, as nil: always the
  /// same place.
  var target: AnyObject? { get }

  /// Writes. Throws when the location changed nothing: `.ended`, `.unmappable`, `.refused`.
  func write(_ value: Value, by writer: Writer) throws(BindingError)

  /// Reads, changes and writes as one. `body` may run more than once, on the calling thread, and returns false to
  /// leave the value as it was.
  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError)

  /// Observes, on the thread that writes or on the location's own lane.
  ///
  /// - Parameters:
  ///   - owner: if given, held weakly: the observation lasts until it dies, or is removed, and letting go of the token
  ///     does not end it. Without an owner, letting go of the token does.
  ///   - body: called with each value and who wrote it.
  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken

  /// Ends all observations of this owner, made here or through any location derived from this one.
  func remove(observer owner: AnyObject)

  /// The location of a member. Implemented already; a location that points at members itself shortens chains.
  func member<Member>(
    _ path: any WritableKeyPath<Value, Member> & Sendable, isRepeat: (@Sendable (Member, Member) -> Bool)?
  ) -> any BindingLocation<Member>
}

extension BindingLocation {
  public func track() {}

  public var target: AnyObject? { nil }

  public func member<Member>(
    _ path: any WritableKeyPath<Value, Member> & Sendable, isRepeat: (@Sendable (Member, Member) -> Bool)?
  ) -> any BindingLocation<Member> {
    MemberLocation(root: self, path: path, isRepeat: isRepeat)
  }
}

extension Cell: BindingLocation {
  @usableFromInline
  var target: AnyObject? { self }

  @usableFromInline
  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    let isWritten = store(value, by: writer, isErased: true)
    if !isWritten { throw .ended }
  }

  @usableFromInline
  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    let isOpen = change(by: writer, isErased: true, body)
    if !isOpen { throw .ended }
  }

  @usableFromInline
  func remove(observer owner: AnyObject) { removeObservers(of: owner) }
}
