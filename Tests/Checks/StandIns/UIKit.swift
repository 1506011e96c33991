// The names of UIKit used by Sources/BindingModel/Bridges, to type-check those files where UIKit is absent.
@_exported import Foundation

public protocol UITextInput: AnyObject { var markedTextRange: UITextRange? { get } }
@MainActor open class UITextRange {}
@MainActor open class UIResponder { public var isFirstResponder: Bool { false } }
@MainActor open class UIView: UIResponder {}

@MainActor open class UIAction { public init(handler: @escaping @MainActor (UIAction) -> Void) {} }

@MainActor open class UIControl: UIView {
  public struct Event: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let editingChanged = Event(rawValue: 1)
    public static let valueChanged = Event(rawValue: 2)
    public static let editingDidEnd = Event(rawValue: 4)
    public static let touchUpInside = Event(rawValue: 8)
    public static let touchUpOutside = Event(rawValue: 16)
    public static let touchCancel = Event(rawValue: 32)
  }
  public var isTracking: Bool { false }
  public func addAction(_ action: UIAction, for events: Event) {}
  public func removeAction(_ action: UIAction, for events: Event) {}
}

open class UITextField: UIControl {
  public var text: String?
  public var selectedTextRange: UITextRange?
}
@MainActor open class UITextView: UIView {
  public static let textDidChangeNotification = Notification.Name("change")
  public static let textDidEndEditingNotification = Notification.Name("end")
  public var text: String!
  public var selectedTextRange: UITextRange?
  public var markedTextRange: UITextRange? { nil }
}
open class UISwitch: UIControl { public var isOn = false }
open class UISlider: UIControl { public var value: Float = 0 }
open class UIStepper: UIControl { public var value = 0.0 }
open class UISegmentedControl: UIControl {
  public static let noSegment = -1
  public var selectedSegmentIndex = 0
}
open class UIDatePicker: UIControl { public var date = Date() }
open class UILabel: UIView { public var text: String? }
