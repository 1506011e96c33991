/// The type-independent part of one observer of one cell.
@usableFromInline
// SAFETY: the `let`s never change. `marks` is written under the cell's lock by the delivering thread, or by another
// while nothing is being delivered; it is read without the lock by the delivering thread alone. All else is accessed
// under the cell's lock only.
class AnyObserver: @unchecked Sendable {
  fileprivate let owner: WeakOwner?
  /// The writer whose writes it does not receive; unnamed: it receives all.
  final let except: Writer
  /// 0 in the common case, a live observer of every write without an owner: one comparison per delivery.
  @exclusivity(unchecked) @usableFromInline final var marks: UInt8
  /// Unique, unlike an address, which a later observation of the cell may have again.
  @usableFromInline final var number: UInt64 = 0
  /// The cell's version when the observer was added: it receives later writes.
  final var since: UInt64 = 0

  init(owner: AnyObject?, except: Writer = .unnamed, isPlain: Bool) {
    self.owner = owner.map { WeakOwner($0) }
    self.except = except
    marks = owner == nil && isPlain ? 0 : Self.special | (except == .unnamed ? 0 : Self.choosy)
  }

  private static let special: UInt8 = 1
  private static let cancelled: UInt8 = 2
  /// The writes of one writer are left out.
  private static let choosy: UInt8 = 4

  /// Calls the body with the pointer's value, which is of the cell's type.
  @usableFromInline
  func call(with value: UnsafeRawPointer) {}

  func call(with value: UnsafeRawPointer, by writer: Writer) {}

  /// Calls the body unless cancelled. False if the owner is gone, so that the observer can be dropped.
  @usableFromInline
  final func deliver(_ value: UnsafeRawPointer, by writer: Writer) -> Bool {
    if marks > Self.special, isCancelled || marks & Self.choosy != 0 && except == writer { return true }
    guard let owner else {
      call(with: value, by: writer)
      return true
    }
    guard let object = owner.object else { return false }
    withExtendedLifetime(object) { call(with: value, by: writer) }
    return true
  }

  final var isCancelled: Bool { marks & Self.cancelled != 0 }

  final func cancel() { marks |= Self.cancelled }

  final func belongs(to owner: AnyObject) -> Bool { self.owner?.identity == ObjectIdentifier(owner) }

  /// Whether there was an owner that is gone.
  final var isOrphaned: Bool {
    guard let owner else { return false }
    return owner.object == nil
  }
}

@usableFromInline
// SAFETY: the `let`s never change; `early` is accessed under the cell's lock only.
final class Observer<Value>: AnyObserver, @unchecked Sendable {
  @usableFromInline let body: @Sendable (Value) -> Void
  /// In place of `body` for an observer that needs the writer.
  private let namedBody: (@Sendable (Value, Writer) -> Void)?
  /// Lives as long as the observation.
  private let kept: AnyObject?
  /// Written while the first callback is still running; its thread delivers them before it goes on.
  var early = Deque<EarlyValue<Value>>()

  @usableFromInline
  init(owner: AnyObject?, body: @escaping @Sendable (Value) -> Void) {
    self.body = body
    namedBody = nil
    kept = nil
    super.init(owner: owner, isPlain: true)
  }

  init(keeping kept: AnyObject, body: @escaping @Sendable (Value) -> Void) {
    self.body = body
    namedBody = nil
    self.kept = kept
    super.init(owner: nil, isPlain: true)
  }

  init(except: Writer, body: @escaping @Sendable (Value) -> Void) {
    self.body = body
    namedBody = nil
    kept = nil
    super.init(owner: nil, except: except, isPlain: false)
  }

  init(owner: AnyObject?, namedBody: @escaping @Sendable (Value, Writer) -> Void) {
    body = { _ in }
    self.namedBody = namedBody
    kept = nil
    super.init(owner: owner, isPlain: false)
  }

  // SAFETY: a cell calls only observations of its own value's type, with pointers to such values.
  @usableFromInline
  override func call(with value: UnsafeRawPointer) { body(value.assumingMemoryBound(to: Value.self).pointee) }

  // SAFETY: as above.
  override func call(with value: UnsafeRawPointer, by writer: Writer) {
    let value = value.assumingMemoryBound(to: Value.self)
    if Self.call(namedBody, with: value.pointee, by: writer) == false { body(value.pointee) }
  }

  /// False if there is no body. Borrowed: an optional closure that is unwrapped would be retained for the call.
  @inline(__always)
  private static func call(
    _ body: borrowing (@Sendable (Value, Writer) -> Void)?, with value: Value, by writer: Writer
  ) -> Bool {
    switch body {
    case .some(let body): body(value, writer)
    case .none: return false
    }
    return true
  }
}

/// A value that was written while an observer's first callback was running.
struct EarlyValue<Value> {
  let value: Value
  let writer: Writer
  let hops: UInt8
}

/// A weak reference to an owner.
// SAFETY: a weak reference may be read on any thread, and this one is never set again.
@usableFromInline
final class WeakOwner: @unchecked Sendable {
  @usableFromInline private(set) weak var object: AnyObject?
  let identity: ObjectIdentifier

  init(_ object: AnyObject) {
    self.object = object
    identity = ObjectIdentifier(object)
  }
}
