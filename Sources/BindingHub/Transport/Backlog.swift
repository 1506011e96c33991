/// Frames that wait for a connection whose pipe is full. Past half of `routedQueueBytes` it gets no more news, only
/// answers, until all of it has left; past the whole it is given up. So it costs the others nothing.
struct Backlog {
  var frames: [[UInt8]] = []
  var bytes = 0
  /// News was left out: a later one would only show the gap.
  var isLagging = false
}
