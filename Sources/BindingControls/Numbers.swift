public import BindingModel

/// A number in a range, by dragging.
open class Slider: Control, Bindable {
  public let range: ClosedRange<Float>
  private var position: Float
  /// Whether a person holds it.
  public private(set) var isTracking = false

  public init(_ range: ClosedRange<Float> = 0...1) {
    self.range = range
    position = range.lowerBound
  }

  /// The position. What lies outside the range is set to its nearer end; what is no number changes nothing.
  open var value: Float {
    get { position }
    set { position = newValue.isNaN ? position : min(max(newValue, range.lowerBound), range.upperBound) }
  }

  /// A person drags it to a position: one edit if that is another one.
  public func drag(to position: Float) {
    guard isEnabled else { return }
    let former = value
    value = position
    if value != former { sendActions(for: .valueChanged) }
  }

  /// A person takes hold of it, for as many drags as come before `letGo()`.
  public func grab() { isTracking = isEnabled }

  /// A person lets go of it.
  public func letGo() {
    guard isTracking else { return }
    isTracking = false
    sendActions(for: .editingDidEnd)
  }

  open override var editing: Editing { isTracking ? .focused : super.editing }

  open func observingValue() -> Float? { value }
  open func updateValue(with value: Float) { self.value = value }
}

/// A number in a range, by steps.
open class Stepper: Control, Bindable {
  public let range: ClosedRange<Double>
  public let step: Double
  private var number: Double

  public init(_ range: ClosedRange<Double> = 0...100, step: Double = 1) {
    self.range = range
    self.step = step
    number = range.lowerBound
  }

  /// The number. What lies outside the range is set to its nearer end; what is no number changes nothing.
  open var value: Double {
    get { number }
    set { number = newValue.isNaN ? number : min(max(newValue, range.lowerBound), range.upperBound) }
  }

  /// A person presses plus: one edit, unless the end is reached.
  public func increment() { go(step) }

  /// A person presses minus: one edit, unless the end is reached.
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
