#if canImport(UIKit) && !os(watchOS)
  public import UIKit

  extension UIControl: Editable {
    public var editing: Editing {
      if let input = self as? any UITextInput, input.markedTextRange != nil { return .composing }
      return isFirstResponder || (self as? UISlider)?.isTracking == true ? .focused : .idle
    }

    public func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken {
      let events: UIControl.Event = [
        .editingChanged, .valueChanged, .editingDidEnd, .touchUpInside, .touchUpOutside, .touchCancel,
      ]
      let action = UIAction { _ in edited() }
      addAction(action, for: events)
      return ObserverToken(endOnMain: { [weak self] in self?.removeAction(action, for: events) })
    }
  }

  extension UITextField: Bindable {
    public func observingValue() -> String? { text ?? "" }
    public func clearValue() { text = "" }

    public func updateValue(with value: String) {
      let selection = selectedTextRange
      text = value
      selectedTextRange = selection
    }
  }

  extension UITextView: Editable, Bindable {
    public var editing: Editing {
      if markedTextRange != nil { return .composing }
      return isFirstResponder ? .focused : .idle
    }

    public func onEdit(_ edited: @escaping @MainActor () -> Void) -> ObserverToken {
      ObserverToken(
        notifications: [UITextView.textDidChangeNotification, UITextView.textDidEndEditingNotification], of: self,
        edited)
    }

    public func observingValue() -> String? { text ?? "" }
    public func clearValue() { text = "" }

    public func updateValue(with value: String) {
      let selection = selectedTextRange
      text = value
      selectedTextRange = selection
    }
  }

  extension UISwitch: Bindable {
    public func observingValue() -> Bool? { isOn }
    public func updateValue(with value: Bool) { isOn = value }
  }

  extension UISlider: Bindable {
    public func observingValue() -> Float? { value }
    public func updateValue(with value: Float) { self.value = value }
  }

  extension UIStepper: Bindable {
    public func observingValue() -> Double? { value }
    public func updateValue(with value: Double) { self.value = value }
  }

  extension UISegmentedControl: Bindable {
    public func observingValue() -> Int? { selectedSegmentIndex }
    public func updateValue(with value: Int) { selectedSegmentIndex = value }
    public func clearValue() { selectedSegmentIndex = UISegmentedControl.noSegment }
  }

  extension UIDatePicker: Bindable {
    public func observingValue() -> Date? { date }
    public func updateValue(with value: Date) { date = value }
  }

  extension UILabel: DisplayControl {
    public func observingValue() -> String? { text }
    public func updateValue(with value: String) { text = value }
    public func clearValue() { text = nil }
  }
#endif
