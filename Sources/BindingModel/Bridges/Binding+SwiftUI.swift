#if canImport(SwiftUI)
  public import SwiftUI

  extension BindingSource where Value: Sendable {
    /// The same value for a SwiftUI control: `Slider(value: lamp.$level.swiftUI)`.
    ///
    /// Reading an observable, a state or a binding in a view's body is tracked by itself; this is needed only where
    /// SwiftUI asks for its own `Binding`. A write that the value's owner does not take shows as no change.
    @MainActor
    public var swiftUI: SwiftUI.Binding<Value> {
      let binding = self.binding
      return SwiftUI.Binding(get: { binding.value }, set: { binding.value = $0 })
    }
  }
#endif
