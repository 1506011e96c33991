// refused: wrappedValue
import BindingModel

struct Screen { @Binding var level = 0.5 }
