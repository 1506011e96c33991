import BindingProtocol

/// What the declaration allows this program to write.
extension FieldCell {
  /// The operation that writes `value`, checked against the declaration.
  func operation(
    _ verb: Verb, _ value: Value, name: String, _ reading: FieldReading
  ) throws(FieldError) -> FieldOperation {
    FieldOperation(verb, name, try encoded(value, name: name, reading))
  }

  /// Why a value is not assigned; nil if it fits.
  func violation(by value: Value) -> String? {
    do {
      let name = declaredName ?? "this field"
      if let list {
        let unwritten = ListBase(value: declared, ids: [], elements: nil)
        _ = try list.operations(from: unwritten, to: value, of: name, checkedBy: check(in: name), limit: .max)
        return nil
      }
      return violation(by: try codec.encode(value), name: name)?.description
    } catch {
      return "\(error)"
    }
  }

  /// Checks an element against the declaration.
  func check(in name: String) -> (_ id: String, _ element: FieldValue) throws(FieldError) -> Void {
    { [self] id, element throws(FieldError) in
      if let violation = violation(by: element, name: "\(name)[id=\(id)]") { throw violation }
    }
  }

  func violation(by value: FieldValue, name: String) -> FieldError? {
    guard value.isValid else { return .notEncodable(field: name, problem: "it is \(value.fault ?? "not JSON")") }
    // Words are made only for a value that does not fit.
    guard let problem = value.bytes.withUnsafeBytes({ rule.words(against: $0) }) else { return nil }
    return .doesNotFit(field: address(of: name), problem: problem)
  }

  func address(of name: String) -> String {
    attachment.map { "\(($0.model.stored ?? $0.model).id).\(name)" } ?? name
  }

  /// Refuses a write that builds on a value which this program cannot read.
  func checkReadable(in model: SharedModel?, _ name: String) throws(FieldError) {
    guard let value = model?.shown(name), decode(value, present.reading) == nil else { return }
    throw .cannotShow(field: address(of: name), value: value)
  }
}
