// compiles: scoped imports as a remedy, since they precede all others
import BindingModel
import Observation
import SwiftUI

import protocol BindingModel.Bindable
import struct BindingModel.Binding
import struct BindingModel.State

struct Screen {
  @State var level = 0.5
  var lent: Binding<Double> { $level }
}

final class Dial: Bindable {
  var angle = 0
  func observingValue() -> Int? { angle }
  func updateValue(with value: Int) { angle = value }
}
