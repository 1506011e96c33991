// The names of AppKit used by Sources/BindingModel/Bridges, to type-check those files where AppKit is absent.
@_exported import Foundation

public struct Selector { public init(_ name: String) {} }

@MainActor open class NSResponder: NSObject {}
@MainActor open class NSWindow: NSResponder { public var firstResponder: NSResponder? { nil } }
@MainActor open class NSView: NSResponder { public var window: NSWindow? { nil } }
@MainActor open class NSApplication {
  public static let shared = NSApplication()
  @discardableResult
  public func sendAction(_ action: Selector, to target: Any?, from sender: Any?) -> Bool { true }
}

open class NSControl: NSView {
  public static let textDidChangeNotification = Notification.Name("change")
  public static let textDidEndEditingNotification = Notification.Name("end")
  public enum StateValue { case on, off }
  public weak var target: AnyObject?
  public var action: Selector?
  public var stringValue = ""
  public var doubleValue = 0.0
  public func currentEditor() -> NSText? { nil }
}

open class NSText: NSView {
  public static let didChangeNotification = Notification.Name("change")
  public static let didEndEditingNotification = Notification.Name("end")
  public var string = ""
}
open class NSTextView: NSText {
  public func hasMarkedText() -> Bool { false }
  public func selectedRange() -> NSRange { NSRange() }
  public func setSelectedRange(_ range: NSRange) {}
}
open class NSTextField: NSControl {}
open class NSSwitch: NSControl { public var state = StateValue.off }
open class NSSlider: NSControl {}
open class NSStepper: NSControl {}
open class NSSegmentedControl: NSControl { public var selectedSegment = 0 }
