/// What the sockets refused or lost, since the start.
struct GateCounters {
  var rejectedMessages: UInt64 = 0
  var cutSubscribers: UInt64 = 0
  var slowConnections: UInt64 = 0
  var unpublished: UInt64 = 0
}
