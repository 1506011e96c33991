/// A location where a value lives, for a `Binding` to point at: an observable, a member of one, a mapped value, or a
/// location of your own (a shared field, a settings store).
///
/// The contract of a location, so that bindings compose:
/// - Any thread may call any member, also from inside an observer. No lock is held while a body runs.
/// - `read` returns the value last written, immediately, whether or not observers have been notified.
/// - `observe` calls the body with the current value before it returns, once, unless the location has ended; then
///   with later values in the order of their writes. Values may be skipped, but never the last one. Calls of one body
///   never overlap, and each happens before the next, so that a body may store the value it last received without a
///   lock.
/// - A write made inside an observer is delivered after the current turn; `Turn.run` groups writes.
/// - The writer of a write is passed on to the bodies, or `.unnamed` if it is not known.
/// - When the location ends, it releases the bodies: this is how async sequences finish.
/// - Holding a location keeps no owner of the value alive.
public protocol BindingLocation<Value>: Sendable {
  associatedtype Value

  /// The current value; after the end, the last one.
  func read() -> Value

  /// Reports a read of the value to `withObservationTracking`, or to the derived value being computed, if the caller
  /// runs inside one. The default implementation does nothing.
  func track()

  /// The object that the value belongs to now. It changes when the location comes to point elsewhere, as that of
  /// `flattened()` does: an edit in progress was then meant for the former object. The default implementation returns
  /// nil: the location never changes.
  var target: AnyObject? { get }

  /// Writes the value. Throws `.ended`, `.unmappable` or `.refused` when the location changed nothing.
  func write(_ value: Value, by writer: Writer) throws(BindingError)

  /// Reads, changes and writes the value as one operation. `body` runs on the calling thread, perhaps more than once,
  /// and returns false to leave the value unchanged.
  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError)

  /// Observes the value, on the writing thread or on the location's own lane.
  ///
  /// - Parameters:
  ///   - owner: if given, held weakly: the observation lasts until the owner is deallocated or removed, and releasing
  ///     the token does not end it. Without an owner, releasing the token ends it.
  ///   - body: called with each value and its writer.
  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken

  /// Ends all observations of this owner, made here or through any location derived from this one.
  func remove(observer owner: AnyObject)

  /// The location of a member. The default implementation wraps this location; an implementation of your own shortens
  /// chains.
  func member<Member>(
    _ path: any WritableKeyPath<Value, Member> & Sendable, isRepeat: (@Sendable (Member, Member) -> Bool)?
  ) -> any BindingLocation<Member>
}

extension BindingLocation {
  /// Does nothing: this location's reads are not tracked.
  public func track() {}

  /// Nil: this location never points elsewhere.
  public var target: AnyObject? { nil }

  /// Returns a location that reads and writes the member through this one.
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
