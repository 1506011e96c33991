/// An object whose value a person can change: a text field, a slider, a row of a terminal form.
///
/// A two-way binding needs no more of a control than this: when a person has changed it, and whether that person is
/// still editing. A change made by the program is not an edit.
@MainActor
public protocol Editable: AnyObject {
  /// Whether a person is editing now. The default implementation returns `.idle`.
  var editing: Editing { get }

  /// Calls `edited` after each change made by a person, and when the person leaves the control, until the token is
  /// cancelled.
  func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken
}

/// How a person is editing a control.
public enum Editing: Hashable, Sendable {
  /// Not at all: the control shows the model's value.
  case idle
  /// The control has the focus, or is held: edits are written as they come; others' writes are shown when the control
  /// is left, so that nothing changes under the cursor.
  case focused
  /// An input method is composing a character (Chinese, an accent): nothing is written or shown until it is complete.
  case composing
}

extension Editable {
  /// Returns `.idle`.
  public var editing: Editing { .idle }
}

extension ObserverToken {
  /// Creates a token that ends something on the main actor: immediately if it is cancelled there, else when the main
  /// actor runs.
  @MainActor
  public convenience init(endOnMain end: @escaping @MainActor () -> Void) {
    self.init(cancelsWhenReleased: false) {
      // The main actor's lane runs work nowhere else.
      Lane.main.run { MainActor.assumeIsolated { end() } }
    }
  }
}
