public import BindingModel

/// A control without a screen: it behaves as those of UIKit and AppKit do, so that bindings, forms and view models can
/// be tried in a test, in a terminal and on any system.
///
/// What the program sets is shown and emits nothing. What a person does (`type`, `drag`, `flip`, `press`) emits once,
/// and does nothing while the control is not enabled.
@MainActor
open class Control: Editable {
  /// What a person did.
  public struct Event: OptionSet, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let editingDidBegin = Event(rawValue: 1)
    /// Text was typed, inserted or deleted.
    public static let editingChanged = Event(rawValue: 2)
    public static let editingDidEnd = Event(rawValue: 4)
    /// A slider was dragged, a switch flipped, a segment chosen.
    public static let valueChanged = Event(rawValue: 8)
    /// A button was pressed.
    public static let touchUpInside = Event(rawValue: 16)
    /// Return was pressed in a text field.
    public static let primaryActionTriggered = Event(rawValue: 32)
    public static let allEvents = Event(rawValue: 63)
  }

  /// Whether a person can use it.
  open var isEnabled = true
  /// Whether it has the keyboard.
  public private(set) var isFirstResponder = false

  private var actions: [(number: Int, events: Event, run: @MainActor () -> Void)] = []
  private var actionCount = 0

  public init() {}

  /// Runs `action` after each of these events, in the order in which actions were added, until the token is cancelled.
  @discardableResult
  public func addAction(for events: Event, _ action: @escaping @MainActor () -> Void) -> ObserverToken {
    actionCount += 1
    let number = actionCount
    actions.append((number, events, action))
    return ObserverToken(endOnMain: { [weak self] in self?.actions.removeAll { $0.number == number } })
  }

  /// Runs the actions of these events, as if a person had done it.
  public func sendActions(for events: Event) {
    for action in actions where !action.events.isDisjoint(with: events) { action.run() }
  }

  /// Takes the keyboard. False, and nothing, while the control is not enabled.
  @discardableResult
  open func becomeFirstResponder() -> Bool {
    guard isEnabled, !isFirstResponder else { return isFirstResponder }
    isFirstResponder = true
    sendActions(for: .editingDidBegin)
    return true
  }

  /// Gives the keyboard back: what a person was at is done.
  @discardableResult
  open func resignFirstResponder() -> Bool {
    guard isFirstResponder else { return true }
    isFirstResponder = false
    sendActions(for: .editingDidEnd)
    return true
  }

  // MARK: Editable

  open var editing: Editing { isFirstResponder ? .focused : .idle }

  public func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken {
    addAction(for: [.editingChanged, .valueChanged, .editingDidEnd], edited)
  }
}
