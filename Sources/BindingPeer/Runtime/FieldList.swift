import BindingProtocol

/// What a list was when somebody began to change it.
struct ListBase<Value: Sendable>: Sendable {
  let value: Value
  /// The ids of the elements that the hub holds, or has been sent. Empty while the declared default shows, of which it
  /// holds nothing.
  let ids: [String]
  /// Those elements: an array of the type of the elements; nil: none.
  let elements: (any Sendable)?
}

/// What a field's cell has besides, if the field is a list: the elements one by one.
protocol FieldList<Value>: AnyObject, Sendable {
  associatedtype Value: Sendable

  /// What the list is now.
  var base: ListBase<Value> { get }
  /// Why the field cannot be shared as it is declared, phrased to follow its name; nil if it can.
  var misdeclaration: String? { get }

  /// The least operations that turn the base into a value.
  /// - Parameter limit: the most operations.
  func operations(
    from base: ListBase<Value>, to value: Value, of name: String,
    checkedBy check: (_ id: String, _ element: FieldValue) throws(FieldError) -> Void, limit: Int
  ) throws(FieldError) -> [FieldOperation]

  /// Takes over what the list shows; nil: it was never written, and the default shows. Only elements that are new or
  /// changed are decoded.
  /// - Returns: the value to show, and what cannot be decoded; nil if something newer shows.
  func receive(_ list: ShownList?, stamp: UInt64) -> (value: Value, broken: FieldValue?)?
  /// What `receive` would show.
  func decoded(_ list: ShownList) -> ListBase<Value>
  /// The hub holds one array instead of a list; nil: it cannot be decoded.
  func hold(array: Value?, stamp: UInt64)
  /// Takes over a value of a list that is not shared.
  func hold(_ value: Value)
  /// Notifies the observers of elements.
  func publish()
  /// Records that a write of an element was refused.
  func reject(_ reason: String, element id: String, stamp: UInt64)
}

extension FieldList {
  func operations(
    from base: ListBase<Value>, to value: Value, of name: String,
    checkedBy check: (_ id: String, _ element: FieldValue) throws(FieldError) -> Void
  ) throws(FieldError) -> [FieldOperation] {
    try operations(from: base, to: value, of: name, checkedBy: check, limit: ListDifference.maxOperations)
  }
}
