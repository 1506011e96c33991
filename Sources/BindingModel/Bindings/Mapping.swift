/// A reversible conversion between the value of a model and that of a control. Other libraries call it *converter* or
/// *value transformer*.
///
/// It need not round-trip (`"1.50"` may come back as `"1.5"`), but should settle: mapping forward what it mapped back
/// should change nothing more. Both functions run on the thread that reads or writes, perhaps more than once.
public protocol Mapping<Source, Target>: Sendable {
  associatedtype Source
  associatedtype Target

  /// The target value for a source value. Never fails: every model value can be shown.
  func forward(_ source: Source) -> Target

  /// The source value for an entered value. Throws `.unmappable`, with a message for the person who entered it.
  func back(_ target: Target) throws(BindingError) -> Source

  /// Whether two different forms mean the same, as `5` and `5.0` do for a number: replacing one by the other is no
  /// correction, and is not reported. The default implementation returns false.
  func isSame(_ left: Target, _ right: Target) -> Bool
}

extension Mapping {
  /// Returns false: two different forms differ in meaning.
  public func isSame(_ left: Target, _ right: Target) -> Bool { false }
}

/// A location whose values have several forms for one meaning.
protocol FormLocation<Value>: BindingLocation {
  func isSame(_ left: Value, _ right: Value) -> Bool
}

/// Another location's value, converted.
///
/// Its type does not contain that of the other location: for a value that is mapped a thousand times, the type would
/// be a thousand levels deep.
struct MappedLocation<Conversion: Mapping>: FormLocation {
  typealias Value = Conversion.Target

  let root: any BindingLocation<Conversion.Source>
  let mapping: Conversion
  let isRepeat: (@Sendable (Value, Value) -> Bool)?

  func read() -> Value { mapping.forward(root.read()) }

  func track() { root.track() }

  func isSame(_ left: Value, _ right: Value) -> Bool { mapping.isSame(left, right) }

  var target: AnyObject? { root.target }

  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    try root.write(mapping.back(value), by: writer)
  }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    var failure: BindingError?
    try root.modify(by: writer) { source in
      failure = nil
      var target = mapping.forward(source)
      guard body(&target) else { return false }
      do throws(BindingError) {
        source = try mapping.back(target)
        return true
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let distinct = Distinct(isRepeat: isRepeat)
    return root.observe(owner: owner) { source, writer in
      let value = mapping.forward(source)
      if distinct.isNew(value) { body(value, writer) }
    }
  }

  func remove(observer owner: AnyObject) { root.remove(observer: owner) }
}
