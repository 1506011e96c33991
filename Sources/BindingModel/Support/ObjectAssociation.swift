/// A stored property for objects of any class, from outside the class: `association[object] = value`.
///
/// Extensions cannot have stored properties; this is what they use instead, without the Objective-C runtime. It does
/// not keep the object alive. The value of an object that is gone is released when values are next set, at the latest
/// when as many objects have come as there were.
@MainActor
public final class ObjectAssociation<Value> {
  private struct Entry {
    weak var object: AnyObject?
    let value: () -> Value?
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  /// Objects that are gone are looked for when there are this many entries.
  private var sweepAt = 16

  /// Makes of a value what is stored for it.
  private nonisolated let hold: @Sendable (Value) -> () -> Value?

  public nonisolated init() { hold = Self.strongly }

  /// - Parameter weakly: whether the values live only as long as somebody else holds them.
  public nonisolated init(weakly: Bool) where Value: AnyObject { hold = weakly ? Self.weakly : Self.strongly }

  /// The value of this object; nil if none was set.
  public subscript(object: AnyObject) -> Value? {
    get {
      let entry = entries[ObjectIdentifier(object)]
      // Another object may live where one was that is gone.
      return entry?.object === object ? entry?.value() : nil
    }
    set {
      entries[ObjectIdentifier(object)] = newValue.map { Entry(object: object, value: hold($0)) }
      if entries.count >= sweepAt { sweep() }
    }
  }

  private nonisolated static func strongly(_ value: Value) -> () -> Value? { { value } }

  private nonisolated static func weakly(_ value: Value) -> () -> Value? where Value: AnyObject {
    { [weak value] in value }
  }

  private func sweep() {
    entries = entries.filter { $0.value.object != nil }
    sweepAt = max(16, entries.count * 2)
  }
}
