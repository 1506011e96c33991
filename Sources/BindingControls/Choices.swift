public import BindingModel

/// A control that is on or off.
open class Switch: Control, Bindable {
  /// Whether the switch is on.
  open var isOn = false

  /// Flips the switch, as a person does.
  public func flip() {
    guard isEnabled else { return }
    isOn.toggle()
    sendActions(for: .valueChanged)
  }

  open func observingValue() -> Bool? { isOn }
  open func updateValue(with value: Bool) { isOn = value }
}

/// A choice of one among several titles, or of none.
open class SegmentedControl: Control, Bindable {
  /// The index of no segment.
  public static let noSegment = -1

  /// The titles of the segments.
  public let segments: [String]
  private var selected = SegmentedControl.noSegment

  /// Creates a control with these titles, of which none is selected.
  public init(segments: [String]) { self.segments = segments }

  /// The index of the selected segment. Setting an index out of range selects `noSegment`.
  open var selectedSegmentIndex: Int {
    get { selected }
    set { selected = segments.indices.contains(newValue) ? newValue : SegmentedControl.noSegment }
  }

  /// Selects a segment, as a person does. Selecting the selected one again, or an index out of range, is no edit.
  public func choose(_ index: Int) {
    guard isEnabled, segments.indices.contains(index), index != selected else { return }
    selected = index
    sendActions(for: .valueChanged)
  }

  open func observingValue() -> Int? { selectedSegmentIndex }
  open func updateValue(with value: Int) { selectedSegmentIndex = value }
  open func clearValue() { selectedSegmentIndex = SegmentedControl.noSegment }
}

/// A button to press.
open class Button: Control {
  /// The title that is shown.
  open var title: String?

  /// Presses the button, as a person does.
  public func press() {
    guard isEnabled else { return }
    sendActions(for: .touchUpInside)
  }
}

/// Text that is shown and cannot be edited.
@MainActor
open class Label: DisplayControl {
  /// The text that is shown.
  open var text: String?

  /// Creates a label without text.
  public init() {}

  open func observingValue() -> String? { text }
  open func updateValue(with value: String) { text = value }
  open func clearValue() { text = nil }
}

/// A picture that is shown and cannot be edited, of any type that stands for one.
@MainActor
open class ImageView<Image> {
  /// The picture that is shown.
  open var image: Image?

  /// Creates a view without a picture.
  public init() {}
}
