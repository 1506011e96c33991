/// A stored property for objects of any class, from outside the class: `association[object] = value`.
///
/// Extensions cannot have stored properties; this replaces them without the Objective-C runtime. It does not keep the
/// object alive. The value of a deallocated object is released when values are set later, at the latest when the
/// number of entries has doubled.
@MainActor
public final class ObjectAssociation<Value> {
  private struct Entry {
    weak var object: AnyObject?
    let value: () -> Value?
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  /// Deallocated objects are searched for when there are this many entries.
  private var sweepAt = 16

  /// Makes the closure that is stored for a value.
  private nonisolated let hold: @Sendable (Value) -> () -> Value?

  /// Creates an association that retains its values.
  public nonisolated init() { hold = Self.strongly }

  /// Creates an association that may hold its values weakly.
  ///
  /// - Parameter weakly: whether a value lives only as long as other code retains it.
  public nonisolated init(weakly: Bool) where Value: AnyObject { hold = weakly ? Self.weakly : Self.strongly }

  /// The value of this object; nil if none was set.
  public subscript(object: AnyObject) -> Value? {
    get {
      let entry = entries[ObjectIdentifier(object)]
      // A new object may have the address of a deallocated one.
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
