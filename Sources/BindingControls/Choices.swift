public import BindingModel

/// On or off.
open class Switch: Control, Bindable {
  open var isOn = false

  /// A person flips it.
  public func flip() {
    guard isEnabled else { return }
    isOn.toggle()
    sendActions(for: .valueChanged)
  }

  open func observingValue() -> Bool? { isOn }
  open func updateValue(with value: Bool) { isOn = value }
}

/// One of several titles, or none.
open class SegmentedControl: Control, Bindable {
  /// The choice of no segment.
  public static let noSegment = -1

  public let segments: [String]
  private var selected = SegmentedControl.noSegment

  public init(segments: [String]) { self.segments = segments }

  /// The chosen segment's place; what is no place is `noSegment`.
  open var selectedSegmentIndex: Int {
    get { selected }
    set { selected = segments.indices.contains(newValue) ? newValue : SegmentedControl.noSegment }
  }

  /// A person chooses a segment; choosing the chosen one again, or one that is not there, is no edit.
  public func choose(_ index: Int) {
    guard isEnabled, segments.indices.contains(index), index != selected else { return }
    selected = index
    sendActions(for: .valueChanged)
  }

  open func observingValue() -> Int? { selectedSegmentIndex }
  open func updateValue(with value: Int) { selectedSegmentIndex = value }
  open func clearValue() { selectedSegmentIndex = SegmentedControl.noSegment }
}

/// Something to press.
open class Button: Control {
  open var title: String?

  /// A person presses it.
  public func press() {
    guard isEnabled else { return }
    sendActions(for: .touchUpInside)
  }
}

/// Text that is only shown.
@MainActor
open class Label: DisplayControl {
  open var text: String?

  public init() {}

  open func observingValue() -> String? { text }
  open func updateValue(with value: String) { text = value }
  open func clearValue() { text = nil }
}

/// A picture that is only shown, by whatever stands for one.
@MainActor
open class ImageView<Image> {
  open var image: Image?

  public init() {}
}
