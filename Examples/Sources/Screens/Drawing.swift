public import BindingControls
import Foundation

/// A screen of controls, drawn as lines of text.
@MainActor
public protocol Screen: AnyObject {
  /// The screen as text, top to bottom.
  var lines: [String] { get }
}

/// A line of a screen: its title, then the drawings of its controls.
public func row(_ title: String, _ drawings: String...) -> String {
  ([title.padded(to: 10)] + drawings).joined(separator: "  ").trimmingCharacters(in: .whitespaces)
}

extension TextField {
  /// `[Ada                     ]`
  public var drawing: String { "[\((text ?? "").padded(to: 24))]" }
}

extension TextView {
  /// `|Notes by me|`
  public var drawing: String { "|\(text ?? "")|" }
}

extension Switch {
  /// `(o) on` or `( ) off`
  public var drawing: String { isOn ? "(o) on" : "( ) off" }
}

extension Slider {
  /// `---|------ 0.30`
  public var drawing: String {
    let width = range.upperBound - range.lowerBound
    let position = width > 0 ? Int((value - range.lowerBound) / width * 9) : 0
    let rail = (0..<10).map { $0 == position ? "|" : "-" }.joined()
    return "\(rail) \(String(format: width > 10 ? "%.0f" : "%.2f", value))"
  }
}

extension Stepper {
  /// `[-] 3 [+]`
  public var drawing: String { "[-] \(String(format: "%g", value)) [+]" }
}

extension SegmentedControl {
  /// `| One |[Two]| Three |`
  public var drawing: String {
    let titles = segments.indices.map { $0 == selectedSegmentIndex ? "[\(segments[$0])]" : " \(segments[$0]) " }
    return "|\(titles.joined(separator: "|"))|"
  }
}

extension Button {
  /// `<Send>`, or ` Send ` while it is not enabled.
  public var drawing: String { isEnabled ? "<\(title ?? "")>" : " \(title ?? "") " }
}

extension Label {
  /// The plain text.
  public var drawing: String { text ?? "" }
}

extension String {
  fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
