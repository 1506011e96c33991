#if canImport(SwiftUI)
  public import SwiftUI

  extension BindingSource where Value: Sendable {
    /// The same value for a SwiftUI control: `Slider(value: lamp.$level.swiftUI)`.
    ///
    /// Reads of an observable, a state or a binding in a view's body are tracked without it; it is needed only where
    /// SwiftUI requires its own `Binding`. A write that the value's owner refuses shows as no change.
    @MainActor
    public var swiftUI: SwiftUI.Binding<Value> {
      let binding = self.binding
      return SwiftUI.Binding(get: { binding.value }, set: { binding.value = $0 })
    }
  }
#endif
