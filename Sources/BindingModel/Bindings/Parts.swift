extension Binding {
  /// A binding to the value of an optional, or to `fallback` (its *default*) while that is nil. Writing it sets the
  /// optional.
  public func or<Wrapped: Sendable>(_ fallback: Wrapped) -> Binding<Wrapped> where Value == Wrapped? {
    Binding<Wrapped>(
      PartLocation(
        root: location, name: "value", last: fallback, get: { $0 ?? fallback },
        set: { whole, part in
          whole = part
          return true
        }))
  }

  /// A binding to the value of an optional; nil while the optional is nil. If the optional becomes nil later, the
  /// binding shows the last value and refuses writes, so that a removed value does not come back.
  public func unwrapped<Wrapped: Sendable>() -> Binding<Wrapped>? where Value == Wrapped? {
    part("value", get: { $0 }, set: { $0 = $1 })
  }

  /// A member of an optional's value: `$person.address.street` where `address` may be nil. It shows nil, and refuses
  /// writes, while there is no address. Writing nil is refused too: a street that exists has a value.
  public subscript<Wrapped: Sendable, Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Wrapped, Member> & Sendable
  ) -> Binding<Member?> where Value == Wrapped? {
    Binding<Member?>(
      PartLocation(
        root: location, name: "value", last: nil, get: { .some($0.map { $0[keyPath: path] }) },
        set: { whole, part in
          guard let part, whole != nil else { return false }
          whole?[keyPath: path] = part
          return true
        }))
  }

  /// An optional member of an optional's value: `$person.address.geo`, and from there on
  /// `$person.address.geo.latitude`. It shows nil, and refuses writes, while there is no address; writing nil clears
  /// the member.
  public subscript<Wrapped: Sendable, Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Wrapped, Member?> & Sendable
  ) -> Binding<Member?> where Value == Wrapped? {
    Binding<Member?>(
      PartLocation(
        root: location, name: "value", last: nil, get: { .some($0.flatMap { $0[keyPath: path] }) },
        set: { whole, part in
          guard whole != nil else { return false }
          whole?[keyPath: path] = part
          return true
        }))
  }

  /// A binding to the element at an index; nil if the index is out of range. If the element is gone later, the
  /// binding shows its last value and refuses writes.
  public subscript(index: Value.Index) -> Binding<Value.Element>?
  where Value: MutableCollection & SendableMetatype, Value.Element: Sendable, Value.Index: Sendable {
    part(
      "element \(index)", get: { $0.startIndex <= index && index < $0.endIndex ? $0[index] : nil },
      set: { $0[index] = $1 })
  }

  /// A binding to the element with this identity, wherever it moves; nil if there is none. If the element is gone
  /// later, the binding shows its last value and refuses writes.
  public subscript(id id: Value.Element.ID) -> Binding<Value.Element>?
  where
    Value: MutableCollection & SendableMetatype, Value.Index: SendableMetatype,
    Value.Element: Identifiable & Sendable, Value.Element.ID: Sendable
  {
    part(
      "element \(id)", get: { whole in whole.first { $0.id == id } },
      set: { whole, part in
        if let index = whole.firstIndex(where: { $0.id == id }) { whole[index] = part }
      })
  }

  /// A binding to the value of a key; nil if there is none. Writing nil removes the key.
  public subscript<Key: Hashable & Sendable, Entry: Sendable>(key: Key) -> Binding<Entry?>
  where Value == [Key: Entry] {
    Binding<Entry?>(
      PartLocation(
        root: location, name: "\(key)", last: nil, get: { .some($0[key]) },
        set: { whole, entry in
          whole[key] = entry
          return true
        }))
  }

  /// A binding to the value of a key, or to `fallback` if there is none. Writing adds the key.
  public subscript<Key: Hashable & Sendable, Entry: Sendable>(
    key: Key, default fallback: Entry
  ) -> Binding<Entry> where Value == [Key: Entry] {
    self[key].or(fallback)
  }

  /// A binding to a part that exists now, or nil.
  private func part<Part: Sendable>(
    _ name: String, get: @escaping @Sendable (Value) -> Part?, set: @escaping @Sendable (inout Value, Part) -> Void
  ) -> Binding<Part>? {
    guard let present = get(value) else { return nil }
    return Binding<Part>(
      PartLocation(
        root: location, name: name, last: present, get: get,
        set: { whole, part in
          if get(whole) == nil { return false }
          set(&whole, part)
          return true
        }))
  }
}

/// A part of another location's value. While it is missing, it shows the value last shown or written.
struct PartLocation<Whole, Value: Sendable>: BindingLocation {
  private let root: any BindingLocation<Whole>
  /// Names what is missing when a write is refused.
  private let name: String
  private let last: Protected<Value>
  private let get: @Sendable (Whole) -> Value?
  /// False if there is nothing to write to.
  private let set: @Sendable (inout Whole, Value) -> Bool

  init(
    root: any BindingLocation<Whole>, name: String, last: Value,
    get: @escaping @Sendable (Whole) -> Value?, set: @escaping @Sendable (inout Whole, Value) -> Bool
  ) {
    self.root = root
    self.name = name
    self.last = Protected(last)
    self.get = get
    self.set = set
  }

  func read() -> Value { present(in: root.read()) }

  func track() { root.track() }

  var target: AnyObject? { root.target }

  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    try modify(by: writer) { part in
      part = value
      return true
    }
  }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    var isMissing = false
    try root.modify(by: writer) { whole in
      var part = present(in: whole)
      isMissing = false
      guard body(&part) else { return false }
      isMissing = !set(&whole, part)
      if !isMissing { last.withLock { $0 = part } }
      return !isMissing
    }
    if isMissing { throw BindingError(.refused, "there is no \(name) to write to") }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let distinct = Distinct(isRepeat: equality(of: Value.self))
    return root.observe(owner: owner) { whole, writer in
      let value = present(in: whole)
      if distinct.isNew(value) { body(value, writer) }
    }
  }

  func remove(observer owner: AnyObject) { root.remove(observer: owner) }

  private func present(in whole: Whole) -> Value {
    guard let value = get(whole) else { return last.withLock { $0 } }
    last.withLock { $0 = value }
    return value
  }
}

/// The equality of a type that has one. For parts whose type is known to be `Equatable` only at run time.
func equality<Value>(of type: Value.Type) -> (@Sendable (Value, Value) -> Bool)? {
  func opened<Same: Equatable & SendableMetatype>(_ type: Same.Type) -> @Sendable (Value, Value) -> Bool {
    // SAFETY: `Same` is `Value`, as which it was opened.
    { unsafeBitCast($0, to: Same.self) == unsafeBitCast($1, to: Same.self) }
  }
  return (type as? any (Equatable & SendableMetatype).Type).map { opened($0) }
}
