/// A place that can be looked at, and takes no writes.
package protocol UnwritableLocation: BindingLocation {
  /// What whoever writes is told: what there is to write instead.
  var refusal: BindingError { get }
}

extension UnwritableLocation {
  package func write(_ value: Value, by writer: Writer) throws(BindingError) { throw refusal }

  package func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    var value = read()
    if body(&value) { throw refusal }
  }
}
