extension ComputedNode {
  /// Reads, and tells that this is being read: the derived value that is being computed, or Observation.
  func trackedRead() -> Value {
    let turn = ThreadTurn.current
    if let collector = turn.pointee.collector {
      return ThreadTurn.inPass(turn) { read(for: collector, in: turn) }
    }
    if TrackingProbe.isTracking(turn) { beTracked() }
    return present()
  }

  /// Tells that this is being read.
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
