/// Frames that wait for a connection whose pipe is full. Past half of `routedQueueBytes` the connection gets no
/// more model updates, only answers, until all of it has left; past the whole it is dropped. So a slow peer costs
/// the others nothing.
struct Backlog {
  var frames: [[UInt8]] = []
  var bytes = 0
  /// A model update was left out; a later one would only show the gap.
  var isLagging = false
}
