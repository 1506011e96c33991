import BindingModel
import BindingWire

/// What a `change {}` that runs on this thread has assigned so far: nothing shows and nothing is sent before it ends.
final class ChangeDraft {
  private static let slot = ThreadSlot<ChangeDraft>()
  static var current: ChangeDraft? { slot.occupant }

  let model: SharedModel
  private var values: [ObjectIdentifier: any Sendable] = [:]
  private var order: [ObjectIdentifier] = []
  private var operations: [ObjectIdentifier: Result<FieldOperation, FieldError>] = [:]
  private var acceptances: [ObjectIdentifier: @Sendable (_ stamp: UInt64) -> Void] = [:]

  init(of model: SharedModel) { self.model = model }

  func run<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    try ChangeDraft.slot.occupy(by: self, body)
  }

  func holds<Value>(_ cell: FieldCell<Value>) -> Bool { cell.attachment?.model === model }

  func value<Value>(of cell: FieldCell<Value>) -> (any Sendable)? { values[ObjectIdentifier(cell)] }

  func record<Value>(_ value: Value, for cell: FieldCell<Value>) {
    guard let name = cell.attachment?.name else { return }
    let key = ObjectIdentifier(cell)
    if values.updateValue(value, forKey: key) == nil { order.append(key) }
    operations[key] = Result { () throws(FieldError) in try cell.operation(.set, value, name: name) }
    acceptances[key] = { cell.accept(typed: value, stamp: $0) }
  }

  /// All that was assigned, as one proposal.
  /// - Throws: `FieldError` if one value does not fit; then nothing is written.
  func proposal() throws(FieldError) -> Proposal {
    var fields: [FieldOperation] = []
    for key in order {
      if let operation = try operations[key]?.get() { fields.append(operation) }
    }
    return Proposal(operations: fields)
  }

  var acceptance: @Sendable (_ stamp: UInt64) -> Void {
    let all = Array(acceptances.values)
    return { stamp in for accept in all { accept(stamp) } }
  }
}
