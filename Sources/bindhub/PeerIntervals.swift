import ArgumentParser

/// How often a hub is heard, and how long a silent peer counts as present.
struct PeerIntervals: ParsableArguments {
  @Option(
    name: [.customLong("heartbeat"), .customLong("beat")],
    help: "Interval between heartbeats in milliseconds, 250 to 5000.")
  var heartbeat: UInt32 = 1_000

  @Option(
    help: "Milliseconds for which a silent peer counts as present, 1000 to 60000; a peer may request another lease.")
  var lease: UInt32 = 10_000

  func validate() throws {
    if !(250...5_000).contains(heartbeat) {
      throw ValidationError("--heartbeat must be 250 to 5000, not \(heartbeat)")
    }
    if !(1_000...60_000).contains(lease) { throw ValidationError("--lease must be 1000 to 60000, not \(lease)") }
  }
}
