import BindingProtocol

/// What a shared model needs of a field's cell, whatever its type.
protocol AnyFieldCell: AnyObject, Sendable {
  var declaredName: String? { get }
  /// The name under which a renamed field is stored; nil if it was not renamed.
  var formerName: String? { get }
  /// The program has shared this declaration, which is compared with the model's description; nil: none.
  func declare(_ declaration: DescribedField?)
  /// The field as a model's description has it, if the declaration differs from it for good. It is compared once with
  /// each description: statuses ask often.
  func describedOtherwise(
    in description: FieldValue, _ compare: (DescribedField) -> FieldDescription?
  ) -> FieldDescription?
  var description: FieldDescription { get }
  /// The values that the declaration allows.
  var rule: FieldRule { get }
  /// How values are read while the description gives the field this form; nil: it does not describe the field.
  func reading(of described: DescribedForm?) -> FieldReading
  /// A stored value of the former form as one of the declared form.
  func mapped(_ value: FieldValue) throws(FieldError) -> FieldValue
  /// The encoded default; nil if it cannot be encoded.
  var encodedDefault: FieldValue? { get }
  /// The model to which the cell is connected.
  var sharedModel: SharedModel? { get }
  /// Why the cell does not show what was assigned or received.
  var problem: FieldProblem? { get }
  /// Records that a write of this field was refused, with the committed value. The next value later than `stamp`
  /// clears it; the value to which the field fell back does not.
  /// - Parameter isSticky: whether only this program's next write clears it.
  func reject(_ reason: String, current: FieldValue?, stamp: UInt64, isSticky: Bool)
  /// Records that a write of an element of a list was refused.
  func reject(_ reason: String, element id: String, stamp: UInt64)
  /// Why the field cannot be shared as it is declared; nil if it can.
  var misdeclaration: String? { get }
  /// The operations that insert the default of a list.
  func defaultElements(in name: String) -> [FieldOperation]
  /// Connects the cell to a field of a shared model. Returns false if it is connected already.
  func attach(to model: SharedModel, as name: String) -> Bool
  /// Accepts the shown value (nil: the field has none, the default shows). Stamps order changes: an update older than
  /// the cell's value changes nothing.
  func accept(_ update: FieldUpdate)
  /// Notifies the observers if the value differs from that of the last notification, or if a write in between was not
  /// delivered.
  func publish(after overwritten: FieldUpdate.Overwritten?)
}
