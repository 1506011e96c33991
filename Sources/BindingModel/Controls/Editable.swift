/// What a person can change: a text field, a slider, a row of a terminal form.
///
/// This is all that a two-way binding needs to know of a control, whatever kind it is: when a person has changed it,
/// and whether that person is still at it. A change made by the program is not an edit.
@MainActor
public protocol Editable: AnyObject {
  /// Whether a person is at it now. Implemented already, as `.idle`.
  var editing: Editing { get }

  /// Calls `edited` after each change that a person made, and when the person leaves it, until the token is cancelled.
  func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken
}

/// How busy a person is with a control.
public enum Editing: Hashable, Sendable {
  /// Not at all: it shows what the model holds.
  case idle
  /// It has the focus, or is held: edits go to the model as they come; what others write is shown when it is left, so
  /// that nothing changes under the cursor.
  case focused
  /// A character is being put together (an input method for Chinese, an accent): nothing goes either way until it is
  /// there.
  case composing
}

extension Editable {
  public var editing: Editing { .idle }
}

extension ObserverToken {
  /// A token that ends something on the main actor: at once if it is cancelled there, else as soon as that gets to it.
  @MainActor
  public convenience init(endOnMain end: @escaping @MainActor () -> Void) {
    self.init(cancelsWhenReleased: false) {
      // The lane of the main actor runs nothing anywhere else.
      Lane.main.run { MainActor.assumeIsolated { end() } }
    }
  }
}
