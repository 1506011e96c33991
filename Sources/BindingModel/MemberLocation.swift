/// A member of another location's value. Members of members point at the same root with a longer path.
struct MemberLocation<Root: BindingLocation, Value>: BindingLocation {
  let root: Root
  // SAFETY: made of key paths that were each Sendable; appending keeps them so, but loses it in the type.
  nonisolated(unsafe) let path: WritableKeyPath<Root.Value, Value>
  /// Equality where the member has one: then only its own changes are delivered, and equal writes change nothing.
  let isRepeat: (@Sendable (Value, Value) -> Bool)?

  func read() -> Value { root.read()[keyPath: path] }

  func track() { root.track() }

  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    try root.modify(by: writer) { whole in
      if let isRepeat, isRepeat(whole[keyPath: path], value) { return false }
      whole[keyPath: path] = value
      return true
    }
  }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    try root.modify(by: writer) { whole in body(&whole[keyPath: path]) }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let distinct = Distinct(isRepeat: isRepeat)
    return root.observe(owner: owner) { whole, writer in
      let value = whole[keyPath: path]
      if distinct.isNew(value) { body(value, writer) }
    }
  }

  func remove(observer owner: AnyObject) { root.remove(observer: owner) }

  func member<Member>(
    _ path: any WritableKeyPath<Value, Member> & Sendable, isRepeat: (@Sendable (Member, Member) -> Bool)?
  ) -> any BindingLocation<Member> {
    MemberLocation<Root, Member>(root: root, path: self.path.appending(path: path), isRepeat: isRepeat)
  }
}

/// Lets a value through when it differs from the one before.
// SAFETY: used by one observation only, whose callbacks never overlap and happen each before the next.
final class Distinct<Value>: @unchecked Sendable {
  private let isRepeat: (@Sendable (Value, Value) -> Bool)?
  private var last: Value?

  init(isRepeat: (@Sendable (Value, Value) -> Bool)?) { self.isRepeat = isRepeat }

  func isNew(_ value: Value) -> Bool {
    guard let isRepeat else { return true }
    if let last, isRepeat(last, value) { return false }
    last = value
    return true
  }
}
