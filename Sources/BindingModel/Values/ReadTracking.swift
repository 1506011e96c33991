/// What tracks the reads of the calling thread. For locations outside this module that do not store their values in a
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
