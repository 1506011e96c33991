public import BindingModel

/// Text with a cursor, into which a person types: the common part of text fields and text views.
@MainActor
open class TextInput: Control, Bindable {
  private var content: [Character] = []
  /// The index of the next character, counted in characters, from 0 to the length of the text.
  public private(set) var cursor = 0
  /// Characters that an input method is composing. They are shown at the cursor, and are not part of the text.
  public private(set) var composition = ""

  /// The text; setting nil empties it. Setting it sends no event; another text moves the cursor to its end.
  open var text: String? {
    get { String(content) }
    set {
      let new = Array(newValue ?? "")
      guard new != content else { return }
      content = new
      cursor = new.count
      composition = ""
    }
  }

  // MARK: Actions of a person

  /// Types at the cursor: one edit.
  public func type(_ typed: String) {
    edit { content, cursor in
      content.insert(contentsOf: typed, at: cursor)
      cursor += typed.count
    }
  }

  /// Deletes at most `count` characters before the cursor: one edit.
  public func delete(_ count: Int = 1) {
    edit { content, cursor in
      let start = max(0, cursor - max(0, count))
      content.removeSubrange(start..<cursor)
      cursor = start
    }
  }

  /// Replaces the whole text, as if selected and typed over: one edit.
  public func enter(_ text: String) {
    edit { content, cursor in
      content = Array(text)
      cursor = content.count
    }
  }

  /// Moves the cursor; this is no edit.
  public func moveCursor(to position: Int) { cursor = min(max(0, position), content.count) }

  /// Begins or continues composing characters with an input method. Takes the keyboard if the control does not have
  /// it.
  public func compose(_ characters: String) {
    guard becomeFirstResponder() else { return }
    composition = characters
  }

  /// Ends the composition: its characters become text, as one edit.
  public func commitComposition() {
    let composed = composition
    composition = ""
    type(composed)
  }

  /// Presses Return: ends a composition, else writes what was typed, whatever the commit trigger. The control keeps
  /// the keyboard.
  public func pressReturn() {
    guard isEnabled else { return }
    if !composition.isEmpty { return commitComposition() }
    commitEdit()
    sendActions(for: .primaryActionTriggered)
  }

  /// Presses Escape: ends a composition, else discards an edit that is not yet written.
  public func pressEscape() {
    guard isEnabled else { return }
    if !composition.isEmpty {
      composition = ""
    } else {
      discardEdit()
    }
  }

  private func edit(_ change: (_ content: inout [Character], _ cursor: inout Int) -> Void) {
    guard isEnabled else { return }
    var (changed, moved) = (content, cursor)
    change(&changed, &moved)
    cursor = moved
    guard changed != content else { return }
    content = changed
    sendActions(for: .editingChanged)
  }

  @discardableResult
  open override func resignFirstResponder() -> Bool {
    if !composition.isEmpty { commitComposition() }
    return super.resignFirstResponder()
  }

  // MARK: Bindable

  open override var editing: Editing { composition.isEmpty ? super.editing : .composing }

  open func observingValue() -> String? { text ?? "" }

  open func clearValue() { text = nil }

  open func updateValue(with value: String) {
    // A cursor in the middle of the text stays there; one at the end stays at the end.
    let position = cursor < content.count ? cursor : .max
    text = value
    moveCursor(to: position)
  }
}

/// One line of text.
open class TextField: TextInput {
  /// Shown in grey while the text is empty.
  open var placeholder: String?
}

/// Several lines of text.
open class TextView: TextInput {}
