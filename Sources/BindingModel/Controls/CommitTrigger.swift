/// When an edit in a control is written to the model: `field.bind(to: name, commit: .onLeave)`.
public enum CommitTrigger: Hashable, Sendable {
  /// Immediately: each character, each position of a slider.
  case eachEdit
  /// When the person leaves the control or releases it, and at `commitEdit()`, for the Return key. For values whose
  /// intermediate states are wrong or costly: 1 and 15 on the way to 150.
  case onLeave
  /// At `commitEdit()` alone, for a dialogue with a button that accepts all edits. Until then an edited control does
  /// not show others' changes.
  case onDemand
}

extension Bindable {
  /// Writes an edit that is not yet written: for the Return key, or a button. The control need not be left.
  public func commitEdit() { for link in ControlLink.all(of: self) { link.commitEdit() } }

  /// Discards an edit that is not written, or was refused, and shows the model's value: for the Escape key. What was
  /// written already stays, so with `.eachEdit` only a refused edit is discarded.
  public func discardEdit() { for link in ControlLink.all(of: self) { link.discardEdit() } }

  /// Whether there is an edit that is not yet written.
  public var hasUncommittedEdit: Bool { ControlLink.all(of: self).contains { $0.hasUncommittedEdit } }
}
