/// Who hears of what the calling thread reads: for places outside of this module, whose values show otherwise than in a
/// cell.
package enum ReadTracking: Sendable {
  case nobody
  /// `withObservationTracking`, and through it SwiftUI and `Observations`.
  case observation
  /// A derived value that is being computed.
  case derived

  package static var current: ReadTracking {
    if ThreadTurn.current.pointee.collector != nil { return .derived }
    return TrackingProbe.isTracking ? .observation : .nobody
  }
}
