/// A member of another location's value. Members of members point at the same root with a longer path.
///
/// A class, because each instance carries its type: accessing the fields of a generic struct looks up its type each
/// time.
final class MemberLocation<Root: BindingLocation, Value>: BindingLocation {
  // SAFETY: made of key paths that were each Sendable; appending keeps them so, but their type no longer says it.
  private nonisolated(unsafe) let path: WritableKeyPath<Root.Value, Value>
  /// The member's offset in the whole; nil if it is computed. Determined once, because following a key path costs
  /// more than the rest of a write.
  private let offset: Int?
  /// The member's equality, if it has one: then only its own changes are delivered, and equal writes change nothing.
  private let isRepeat: (@Sendable (Value, Value) -> Bool)?
  /// The same for calls: an optional closure would be retained for every call.
  private let isSame: @Sendable (Value, Value) -> Bool
  /// The root, if it is a cell itself.
  private let cell: Cell<Root.Value>?
  /// Last, because its size is not known here: the fields before it have known offsets.
  private let root: Root

  init(root: Root, path: WritableKeyPath<Root.Value, Value>, isRepeat: (@Sendable (Value, Value) -> Bool)?) {
    self.root = root
    cell = root as? Cell<Root.Value>
    self.path = path
    self.isRepeat = isRepeat
    isSame = isRepeat ?? { _, _ in false }
    offset = MemoryLayout<Root.Value>.offset(of: path)
  }

  func read() -> Value {
    var whole = root.read()
    guard let offset else { return whole[keyPath: path] }
    return Self.member(in: &whole, at: offset)
  }

  func track() { root.track() }

  var target: AnyObject? { root.target }

  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    if let cell, let offset, let isOpen = cell.storeMember(value, at: offset, unless: isSame, by: writer) {
      if !isOpen { throw .ended }
      return
    }
    try root.modify(by: writer) { whole in
      guard let offset else { return replace(&whole[keyPath: path], by: value) }
      return replace(in: &whole, at: offset, by: value)
    }
  }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    try root.modify(by: writer) { whole in
      guard let offset else { return body(&whole[keyPath: path]) }
      return Self.change(in: &whole, at: offset, body)
    }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let distinct = Distinct(isRepeat: isRepeat)
    return root.observe(owner: owner) { whole, writer in
      let value = self.member(of: whole)
      if distinct.isNew(value) { body(value, writer) }
    }
  }

  func remove(observer owner: AnyObject) { root.remove(observer: owner) }

  func member<Member>(
    _ path: any WritableKeyPath<Value, Member> & Sendable, isRepeat: (@Sendable (Member, Member) -> Bool)?
  ) -> any BindingLocation<Member> {
    MemberLocation<Root, Member>(root: root, path: self.path.appending(path: path), isRepeat: isRepeat)
  }

  @inline(__always)
  private func member(of whole: Root.Value) -> Value {
    guard let offset else { return whole[keyPath: path] }
    return withUnsafePointer(to: whole) { Self.member(in: $0, at: offset) }
  }

  @inline(__always)
  private static func member(in whole: UnsafePointer<Root.Value>, at offset: Int) -> Value {
    // SAFETY: a stored member lies at its offset from the beginning of the whole.
    (UnsafeRawPointer(whole) + offset).assumingMemoryBound(to: Value.self).pointee
  }

  @inline(__always)
  private static func change(
    in whole: UnsafeMutablePointer<Root.Value>, at offset: Int, _ body: (inout Value) -> Bool
  ) -> Bool {
    // SAFETY: as above; the pointer is made for this call, and no other code reaches the whole meanwhile.
    body(&(UnsafeMutableRawPointer(whole) + offset).assumingMemoryBound(to: Value.self).pointee)
  }

  @inline(__always)
  private func replace(in whole: UnsafeMutablePointer<Root.Value>, at offset: Int, by value: Value) -> Bool {
    // SAFETY: as above.
    replace(&(UnsafeMutableRawPointer(whole) + offset).assumingMemoryBound(to: Value.self).pointee, by: value)
  }

  @inline(__always)
  private func replace(_ member: inout Value, by value: Value) -> Bool {
    if isSame(member, value) { return false }
    member = value
    return true
  }
}

/// Lets a value through if it differs from the one before.
// SAFETY: used by one observation only, whose callbacks never overlap and happen each before the next.
final class Distinct<Value>: @unchecked Sendable {
  private let isRepeat: @Sendable (Value, Value) -> Bool
  /// Spares the call, and the copy of the last value, where there is nothing to compare by.
  private let isComparing: Bool
  /// In separate memory: where the compiler does not know the type, it looks up that of an optional at every access.
  private var last: UnsafeMutablePointer<Value>?

  init(isRepeat: (@Sendable (Value, Value) -> Bool)?) {
    self.isRepeat = isRepeat ?? { _, _ in false }
    isComparing = isRepeat != nil
  }

  deinit {
    last?.deinitialize(count: 1)
    last?.deallocate()
  }

  func isNew(_ value: Value) -> Bool {
    guard isComparing else { return true }
    guard let last else {
      let first = UnsafeMutablePointer<Value>.allocate(capacity: 1)
      first.initialize(to: value)
      last = first
      return true
    }
    if isRepeat(last.pointee, value) { return false }
    last.pointee = value
    return true
  }
}
