/// When what a person edits in a control is written to the model: `field.bind(to: name, commit: .onLeave)`.
public enum CommitTrigger: Hashable, Sendable {
  /// As it comes: each character, each position of a slider.
  case eachEdit
  /// When the person leaves the control or lets go of it, and at `commitEdit()`, for the Return key. For what is wrong
  /// or costly half way: 1 and 15 on the way to 150.
  case onLeave
  /// At `commitEdit()` alone, for a dialogue with a button that takes all of it. Until then others' changes are not
  /// shown where something was edited.
  case onDemand
}

extension Bindable {
  /// Writes what was edited and is not yet written: for the Return key, or a button. The control need not be left.
  public func commitEdit() { for link in ControlLink.all(of: self) { link.commitEdit() } }

  /// Takes back what was edited and is not written, and what the model did not take: shows what the model has, for the
  /// Escape key. What was written already stays, so with `.eachEdit` that is only what was refused.
  public func discardEdit() { for link in ControlLink.all(of: self) { link.discardEdit() } }

  /// Whether something was edited that is not yet written.
  public var hasUncommittedEdit: Bool { ControlLink.all(of: self).contains { $0.hasUncommittedEdit } }
}
