#if canImport(AppKit) && !targetEnvironment(macCatalyst)
  public import AppKit

  extension NSControl: Editable {
    public var editing: Editing {
      guard let editor = currentEditor() else { return .idle }
      return (editor as? NSTextView)?.hasMarkedText() == true ? .composing : .focused
    }

    /// Replaces the control's action, and forwards it to the target that it had.
    public func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken {
      let typing = ObserverToken(
        notifications: [NSControl.textDidChangeNotification, NSControl.textDidEndEditingNotification], of: self, edited)
      let relay = ActionRelay.relay(of: self)
      let number = relay.add(edited)
      return ObserverToken(endOnMain: {
        typing.cancel()
        relay.remove(number)
      })
    }
  }

  /// Relays a control's action to its target and to observers, because AppKit allows only one target.
  @MainActor
  private final class ActionRelay: NSObject {
    private static let relays = ObjectAssociation<ActionRelay>()

    private weak var target: AnyObject?
    private let action: Selector?
    private var listeners: [Int: @MainActor () -> Void] = [:]
    private var count = 0

    static func relay(of control: NSControl) -> ActionRelay {
      if let relay = relays[control], control.target === relay { return relay }
      let relay = ActionRelay(target: control.target, action: control.action)
      relays[control] = relay
      (control.target, control.action) = (relay, Selector(("fire:")))
      return relay
    }

    private init(target: AnyObject?, action: Selector?) {
      self.target = target
      self.action = action
    }

    func add(_ listener: @escaping @MainActor () -> Void) -> Int {
      count += 1
      listeners[count] = listener
      return count
    }

    func remove(_ number: Int) { listeners[number] = nil }

    @objc func fire(_ sender: Any?) {
      if let action { NSApplication.shared.sendAction(action, to: target, from: sender) }
      for number in listeners.keys.sorted() { listeners[number]?() }
    }
  }

  extension NSTextField: Bindable {
    public func observingValue() -> String? { stringValue }
    public func updateValue(with value: String) { stringValue = value }
    public func clearValue() { stringValue = "" }
  }

  extension NSTextView: Editable, Bindable {
    public var editing: Editing {
      if hasMarkedText() { return .composing }
      return window?.firstResponder === self ? .focused : .idle
    }

    public func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken {
      ObserverToken(
        notifications: [NSText.didChangeNotification, NSText.didEndEditingNotification], of: self, edited)
    }

    public func observingValue() -> String? { string }
    public func clearValue() { string = "" }

    public func updateValue(with value: String) {
      let selection = selectedRange()
      string = value
      let length = (value as NSString).length
      let start = min(selection.location, length)
      setSelectedRange(NSRange(location: start, length: min(selection.length, length - start)))
    }
  }

  extension NSSwitch: Bindable {
    public func observingValue() -> Bool? { state == .on }
    public func updateValue(with value: Bool) { state = value ? .on : .off }
  }

  extension NSSlider: Bindable {
    public func observingValue() -> Double? { doubleValue }
    public func updateValue(with value: Double) { doubleValue = value }
  }

  extension NSStepper: Bindable {
    public func observingValue() -> Double? { doubleValue }
    public func updateValue(with value: Double) { doubleValue = value }
  }

  extension NSSegmentedControl: Bindable {
    public func observingValue() -> Int? { selectedSegment }
    public func updateValue(with value: Int) { selectedSegment = value }
    public func clearValue() { selectedSegment = -1 }
  }
#endif
