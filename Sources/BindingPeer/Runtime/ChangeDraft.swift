import BindingModel
import BindingProtocol

/// The assignments of a `change {}` that runs on this thread: nothing shows and nothing is sent before it ends.
final class ChangeDraft {
  private static let slot = ThreadSlot<ChangeDraft>()
  static var current: ChangeDraft? { slot.occupant }

  let model: SharedModel
  private var values: [ObjectIdentifier: any Sendable] = [:]
  private var order: [ObjectIdentifier] = []
  private var assignments: [ObjectIdentifier: Result<Written, FieldError>] = [:]
  /// Assignments of lists, which are compared with what they began from when the change ends.
  private var lists: [ObjectIdentifier: (base: any Sendable, written: () throws(FieldError) -> Written)] = [:]

  init(of model: SharedModel) { self.model = model }

  func run<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    try ChangeDraft.slot.occupy(by: self, body)
  }

  func holds<Value>(_ cell: FieldCell<Value>) -> Bool {
    guard let attached = cell.attachment?.model else { return false }
    return attached === model || attached.stored === model
  }

  func value<Value>(of cell: FieldCell<Value>) -> (any Sendable)? { values[ObjectIdentifier(cell)] }

  func record<Value>(_ value: Value, for cell: FieldCell<Value>, over base: ListBase<Value>?) {
    guard let name = cell.attachment?.name else { return }
    let key = ObjectIdentifier(cell)
    if values.updateValue(value, forKey: key) == nil { order.append(key) }
    if let list = cell.list {
      let base = lists[key]?.base as? ListBase<Value> ?? base ?? list.base
      lists[key] = (
        base,
        { () throws(FieldError) in
          let (operations, policies) = try cell.listOperations(list, value, from: base, name)
          return Written(operations: operations, policies: policies) { cell.accept($0, named: name) }
        }
      )
      return
    }
    assignments[key] = Result { () throws(FieldError) in
      if cell.attachment?.model.stored != nil { throw .mixed(field: name) }
      cell.catchUp(in: model, name)
      guard let (assignment, shows) = try cell.assignment(of: value, name: name) else {
        return Written(operations: [], policies: [:], unchanged: name) { _ in cell.record(nil) }
      }
      return Written(operations: [assignment.operation], policies: assignment.policies, forms: assignment.forms) {
        cell.accept(shows, of: assignment, $0)
      }
    }
  }

  /// All assignments as one proposal, with the policies of its fields and what to show.
  /// - Throws: `FieldError` if a value does not fit; then nothing is written.
  func finished() throws(FieldError) -> Finished {
    var finished = Finished()
    for key in order {
      let written: Written?
      if let list = lists[key] { written = try list.written() } else { written = try assignments[key]?.get() }
      guard let written else { continue }
      finished.proposal.operations += written.operations
      finished.proposal.metadata += written.forms
      finished.unchangedField = written.unchanged ?? finished.unchangedField
      finished.policies.merge(written.policies) { _, later in later }
      finished.acceptances.append(written.accept)
    }
    return finished
  }

  struct Finished: Sendable {
    var proposal = Proposal(operations: [])
    var policies: [String: WritePolicy] = [:]
    fileprivate var unchangedField: String?
    fileprivate(set) var acceptances: [@Sendable (OverlaidFields) -> Void] = []

    /// The write, if something was assigned and all of it is stored already; nil: something is to be written.
    func unchanged(_ version: Version) -> PendingWrite? {
      guard proposal.operations.isEmpty, let unchangedField else { return nil }
      accept(OverlaidFields(stamp: 0))
      return PendingWrite.unchanged(unchangedField, version)
    }

    func accept(_ shown: OverlaidFields) { for accept in acceptances { accept(shown) } }
  }

  private struct Written {
    let operations: [FieldOperation]
    let policies: [String: WritePolicy]
    var forms: [MetadataEntry] = []
    /// The field, if what is stored already means the value.
    var unchanged: String?
    let accept: @Sendable (OverlaidFields) -> Void
  }
}
