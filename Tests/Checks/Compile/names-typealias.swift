// compiles: type aliases as a remedy
import BindingModel
import Observation
import SwiftUI

typealias Lent = BindingModel.Binding
typealias Owned = BindingModel.State

struct Screen {
  @Owned var level = 0.5
  var lent: Lent<Double> { $level }
}

@Observable
final class Tracked { var count = 0 }
