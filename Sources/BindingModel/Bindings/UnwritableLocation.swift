/// A location that can be read and observed, and refuses writes.
package protocol UnwritableLocation: BindingLocation {
  /// The error that a write throws, which says what to write instead.
  var refusal: BindingError { get }
}

extension UnwritableLocation {
  package func write(_ value: Value, by writer: Writer) throws(BindingError) { throw refusal }

  package func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    var value = read()
    if body(&value) { throw refusal }
  }
}
