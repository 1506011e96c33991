public import BindingModel

/// A number in a range, set by dragging.
open class Slider: Control, Bindable {
  /// The range of values, both ends included.
  public let range: ClosedRange<Float>
  private var position: Float
  /// Whether a person is holding the slider.
  public private(set) var isTracking = false

  /// Creates a slider at the lower end of its range.
  public init(_ range: ClosedRange<Float> = 0...1) {
    self.range = range
    position = range.lowerBound
  }

  /// The position. A value outside the range is set to its nearer end; NaN changes nothing.
  open var value: Float {
    get { position }
    set { position = newValue.isNaN ? position : min(max(newValue, range.lowerBound), range.upperBound) }
  }

  /// Drags the slider to a position, as a person does: one edit, unless the value stays the same.
  public func drag(to position: Float) {
    guard isEnabled else { return }
    let former = value
    value = position
    if value != former { sendActions(for: .valueChanged) }
  }

  /// Takes hold of the slider, as a person does, for any number of drags until `letGo()`.
  public func grab() { isTracking = isEnabled }

  /// Lets go of the slider, as a person does.
  public func letGo() {
    guard isTracking else { return }
    isTracking = false
    sendActions(for: .editingDidEnd)
  }

  open override var editing: Editing { isTracking ? .focused : super.editing }

  open func observingValue() -> Float? { value }
  open func updateValue(with value: Float) { self.value = value }
}

/// A number in a range, set by steps.
open class Stepper: Control, Bindable {
  /// The range of values, both ends included.
  public let range: ClosedRange<Double>
  /// The distance of one step.
  public let step: Double
  private var number: Double

  /// Creates a stepper at the lower end of its range.
  public init(_ range: ClosedRange<Double> = 0...100, step: Double = 1) {
    self.range = range
    self.step = step
    number = range.lowerBound
  }

  /// The number. A value outside the range is set to its nearer end; NaN changes nothing.
  open var value: Double {
    get { number }
    set { number = newValue.isNaN ? number : min(max(newValue, range.lowerBound), range.upperBound) }
  }

  /// Presses plus, as a person does: one edit, unless the end is reached.
  public func increment() { go(step) }

  /// Presses minus, as a person does: one edit, unless the end is reached.
  public func decrement() { go(-step) }

  private func go(_ distance: Double) {
    guard isEnabled else { return }
    let former = value
    value += distance
    if value != former { sendActions(for: .valueChanged) }
  }

  open func observingValue() -> Double? { value }
  open func updateValue(with value: Double) { self.value = value }
}
