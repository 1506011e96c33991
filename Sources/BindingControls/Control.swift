public import BindingModel

/// A control without a screen. It behaves like those of UIKit and AppKit, so that bindings, forms and view models can
/// be tested in a unit test, in a terminal and on any system.
///
/// A value set by the program is shown and sends no event. An action of a person (`type`, `drag`, `flip`, `press`)
/// sends its events once, and does nothing while the control is disabled.
@MainActor
open class Control: Editable {
  /// The actions of a person.
  public struct Event: OptionSet, Hashable, Sendable {
    public let rawValue: Int
    /// Creates a set of events from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The control received the keyboard.
    public static let editingDidBegin = Event(rawValue: 1)
    /// Text was typed, inserted or deleted.
    public static let editingChanged = Event(rawValue: 2)
    /// The control gave up the keyboard, or was released.
    public static let editingDidEnd = Event(rawValue: 4)
    /// A slider was dragged, a switch flipped, a segment chosen.
    public static let valueChanged = Event(rawValue: 8)
    /// A button was pressed.
    public static let touchUpInside = Event(rawValue: 16)
    /// Return was pressed in a text field.
    public static let primaryActionTriggered = Event(rawValue: 32)
    /// Every event.
    public static let allEvents = Event(rawValue: 63)
  }

  /// Whether a person can use the control.
  open var isEnabled = true
  /// Whether the control has the keyboard.
  public private(set) var isFirstResponder = false

  private var actions: [(number: Int, events: Event, run: @MainActor () -> Void)] = []
  private var actionCount = 0

  /// Creates an enabled control without actions.
  public init() {}

  /// Runs `action` after each of these events until the token is cancelled. Actions run in the order in which they
  /// were added.
  @discardableResult
  public func addAction(for events: Event, _ action: @escaping @MainActor () -> Void) -> ObserverToken {
    actionCount += 1
    let number = actionCount
    actions.append((number, events, action))
    return ObserverToken(endOnMain: { [weak self] in self?.actions.removeAll { $0.number == number } })
  }

  /// Runs the actions of these events, as if a person had caused them.
  public func sendActions(for events: Event) {
    for action in actions where !action.events.isDisjoint(with: events) { action.run() }
  }

  /// Gives the control the keyboard, unless it is disabled. Returns whether the control has it.
  @discardableResult
  open func becomeFirstResponder() -> Bool {
    guard isEnabled, !isFirstResponder else { return isFirstResponder }
    isFirstResponder = true
    sendActions(for: .editingDidBegin)
    return true
  }

  /// Gives up the keyboard, which ends the edit. Returns true.
  @discardableResult
  open func resignFirstResponder() -> Bool {
    guard isFirstResponder else { return true }
    isFirstResponder = false
    sendActions(for: .editingDidEnd)
    return true
  }

  // MARK: Editable

  open var editing: Editing { isFirstResponder ? .focused : .idle }

  /// Calls `edited` after each change made by a person, and when the person leaves the control, until the token is
  /// cancelled.
  public func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken {
    addAction(for: [.editingChanged, .valueChanged, .editingDidEnd], edited)
  }
}
