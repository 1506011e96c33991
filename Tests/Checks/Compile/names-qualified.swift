// compiles: qualified names as a remedy, beside SwiftUI and Observation
import BindingControls
import BindingModel
import Observation
import SwiftUI

@MainActor
struct Screen {
  @BindingModel.State var level = 0.5
  let field = Slider()

  func bind() { field.bind(to: $level.map(Conversion(forward: { Float($0) }, back: { Double($0) }))) }
}

@Observable
final class Tracked {
  var count = 0
  let level = BindingModel.Observable(1)
}

func lend(_ binding: BindingModel.Binding<Double>) {}
