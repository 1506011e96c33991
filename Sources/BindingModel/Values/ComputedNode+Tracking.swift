extension ComputedNode {
  /// Reads, and records the read for the derived value being computed, or for Observation.
  func trackedRead() -> Value {
    let turn = ThreadTurn.current
    if let collector = turn.pointee.collector {
      return ThreadTurn.inPass(turn) { read(for: collector, in: turn) }
    }
    if TrackingProbe.isTracking(turn) { beTracked() }
    return present()
  }

  /// Records a read for the derived value being computed, or for Observation.
  func track() {
    let turn = ThreadTurn.current
    if let collector = turn.pointee.collector {
      collector._withUnsafeGuaranteedRef { collector in
        ThreadTurn.inPass(turn) { collector.add(self, in: turn) }
      }
    } else if TrackingProbe.isTracking(turn) {
      beTracked()
    }
  }

  private func beTracked() {
    observedCell().track()
    lookForObservers()
  }
}
