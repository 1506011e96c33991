#if canImport(AppKit) && !targetEnvironment(macCatalyst)
  public import AppKit

  extension NSControl: Editable {
    public var editing: Editing {
      guard let editor = currentEditor() else { return .idle }
      return (editor as? NSTextView)?.hasMarkedText() == true ? .composing : .focused
    }

    /// Takes the control's action, and passes it on to the target that it had.
    public func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken {
      let typing = ObserverToken(
        notifications: [NSControl.textDidChangeNotification, NSControl.textDidEndEditingNotification], of: self, edited)
      let relay = ActionRelay(target: target, action: action, edited)
      (target, action) = (relay, Selector(("fire:")))
      return ObserverToken(endOnMain: { [weak self] in
        typing.cancel()
        guard let self, self.target === relay else { return }
        (self.target, self.action) = (relay.target, relay.action)
      })
    }
  }

  /// Stands between a control and its target, of which AppKit allows only one.
  @MainActor
  private final class ActionRelay: NSObject {
    weak var target: AnyObject?
    let action: Selector?
    private let edited: @MainActor () -> Void

    init(target: AnyObject?, action: Selector?, _ edited: @escaping @MainActor () -> Void) {
      self.target = target
      self.action = action
      self.edited = edited
    }

    @objc func fire(_ sender: Any?) {
      if let action { NSApplication.shared.sendAction(action, to: target, from: sender) }
      edited()
    }
  }

  extension NSTextField: Bindable {
    public func observingValue() -> String? { stringValue }
    public func updateValue(with value: String) { stringValue = value }
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

    public func updateValue(with value: String) {
      let selection = selectedRange()
      string = value
      setSelectedRange(selection)
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
  }
#endif
