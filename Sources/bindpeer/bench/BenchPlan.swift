import ArgumentParser
import BindingTerminal

/// The workloads of `bench`, with the expected results.
enum BenchProfile: String, CaseIterable, ExpressibleByArgument {
  case slider
  case fanOut = "fan-out"
  case burst
  case offline

  /// Writes per second, unless the command line sets it.
  var rate: Double {
    switch self {
    case .slider: 60
    case .fanOut, .burst: 1_000
    case .offline: 100
    }
  }

  /// Watching peers, unless the command line sets it.
  var peers: Int { self == .fanOut ? 8 : 1 }

  /// Fields that are written in turn.
  var fields: Int {
    switch self {
    case .slider: 1
    case .fanOut, .burst: 100
    case .offline: 1_000
    }
  }

  /// Writes that are due at the same moment.
  var writesAtOnce: Int { self == .burst ? 1_000 : 1 }

  /// The limit of `--check`, in milliseconds: the maximum time for 99 of 100 writes to be committed, and to be
  /// shown by another peer.
  var limit: Double {
    switch self {
    case .slider: 50
    case .fanOut: 250
    case .burst: 1_000
    case .offline: 3_000
    }
  }

  var explanation: String {
    switch self {
    case .slider: "one field, as when a user drags a slider"
    case .fanOut: "many peers watch 100 fields"
    case .burst: "repeated bursts of 1,000 writes to 100 fields"
    case .offline: "a disconnected peer writes 1,000 fields to its outbox, then reconnects"
    }
  }
}

/// One measurement: `total` writes, each due at a predetermined time.
struct BenchPlan {
  static let mostWrites = 1_000_000
  static let mostOffline = 10_000
  static let mostPeers = 200

  let profile: BenchProfile
  /// Writes per second.
  let rate: Double
  let peers: Int
  let total: Int

  init(_ profile: BenchProfile, rate: Double?, peers: Int?, span: TimeSpan) throws(Failure) {
    self.profile = profile
    self.rate = rate ?? profile.rate
    self.peers = peers ?? profile.peers
    guard self.rate > 0, self.rate <= 1_000_000 else {
      throw Failure(.usage, "--rate must be above 0 and at most 1000000, not \(self.rate)")
    }
    guard (1...BenchPlan.mostPeers).contains(self.peers) else {
      throw Failure(.usage, "--peers must be 1 to \(BenchPlan.mostPeers), not \(self.peers)")
    }
    let once = profile.writesAtOnce
    let wanted = self.rate * Double(span.milliseconds) / 1_000 / Double(once)
    let most = profile == .offline ? BenchPlan.mostOffline : BenchPlan.mostWrites
    guard wanted * Double(once) <= Double(most) else {
      throw Failure(.usage, "--rate times --for is more than \(most) writes, the limit of \(profile.rawValue)")
    }
    total = max(1, Int(wanted.rounded())) * once
  }

  /// When a write is due, in nanoseconds from the beginning.
  func due(_ number: Int) -> UInt64 {
    let once = profile.writesAtOnce
    return UInt64(Double(number / once * once) / rate * 1e9)
  }

  /// The time that this many writes take at this rate, in nanoseconds.
  func span(of writes: Int) -> UInt64 { UInt64(Double(writes) / rate * 1e9) }
}
