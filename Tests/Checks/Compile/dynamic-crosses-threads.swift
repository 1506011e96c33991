// refused: risks causing data races
import BindingClassic

final class Drawing { var lines = 0 }

func draw(_ drawing: Dynamic<Drawing>) {
  Task.detached { drawing.value = Drawing() }
}
