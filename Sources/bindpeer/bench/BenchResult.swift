import BindingPeer

/// The result of a measurement, in words, as JSON, and as a verdict.
struct BenchResult {
  enum Verdict: String {
    case good, slow, broken
  }

  private static let shares: [(name: String, words: String, share: Double)] = [
    ("p50", "p50", 0.5), ("p90", "p90", 0.9), ("p99", "p99", 0.99), ("p999", "p99.9", 0.999),
  ]

  let plan: BenchPlan
  let hub: String
  let durability: String
  /// The duration of the writing.
  let seconds: Double
  let ledger: BenchLedger
  /// The number of fields whose final value at a watching peer is not the last written one; the sum over all peers.
  let differing: Int

  private var achieved: Double { seconds > 0 ? Double(ledger.written) / seconds : 0 }
  /// Writes without an outcome, or with an outcome other than a commit.
  private var unconfirmed: Int { ledger.open + ledger.failed }

  /// Why the offered rate was not reached; nil if it was.
  private var shortfall: String? {
    guard ledger.written < plan.total || achieved < plan.rate * 0.99 else { return nil }
    return "the rate was not reached: \(ledger.written) of \(plan.total) writes were made, "
      + "\(achieved.formatted(places: 1)) per second of \(plan.rate.formatted(places: 1)) offered"
  }

  /// The faults of the run; nil if there are none. Latencies mean little if writes failed.
  var fault: String? {
    var faults: [String] = []
    if unconfirmed > 0 {
      faults.append(
        "\(unconfirmed) of \(ledger.written + ledger.failed) writes not committed"
          + (ledger.firstProblem.map { " (\($0))" } ?? ""))
    }
    if ledger.lost > 0 { faults.append("\(ledger.lost) not seen by another peer") }
    if differing > 0 { faults.append("\(differing) field\(differing == 1 ? "" : "s") with a different last value") }
    return faults.isEmpty ? nil : faults.joined(separator: ", ")
  }

  var verdict: (Verdict, reason: String) {
    if let fault { return (.broken, fault) }
    if let shortfall { return (.slow, shortfall) }
    let limit = plan.profile.limit
    for (name, latencies) in [("committed", ledger.committed), ("seen by another", ledger.seen)] {
      let p99 = milliseconds(latencies.percentile(0.99)) ?? 0
      guard p99 > limit else { continue }
      return (
        .slow,
        "p99 \(name) is \(p99.formatted(places: 3)) ms; the limit of \(plan.profile.rawValue) is \(Int(limit)) ms"
      )
    }
    return (.good, "all committed and seen, p99 of both within \(Int(limit)) ms")
  }

  // MARK: For people

  func words(isChecked: Bool) -> [String] {
    let watching = "\(plan.peers) other peer\(plan.peers == 1 ? " watches" : "s watch")"
    var lines = [
      "\(plan.profile.rawValue)  \(hub)  durability \(durability)",
      "\(ledger.written) writes in \(seconds.formatted(places: 2)) s, \(achieved.formatted(places: 1)) per second of "
        + "\(plan.rate.formatted(places: 1)) offered; \(watching)",
      row(plan.profile == .offline ? "ms; * from restart" : "ms", BenchResult.shares.map(\.words) + ["max"]),
    ]
    let mark = plan.profile == .offline ? " *" : ""
    for (name, latencies) in [
      ("begun late", ledger.late), ("seen locally", ledger.local), ("committed\(mark)", ledger.committed),
      ("seen by another\(mark)", ledger.seen),
    ] {
      let times =
        BenchResult.shares.map { latencies.percentile($0.share) } + [latencies.count > 0 ? latencies.greatest : nil]
      let cells = times.map { milliseconds($0)?.fixed ?? "-" }
      lines.append(row(name, cells) + (Terminal.isColoured ? "  " + Terminal.dim(bars(times)) : ""))
    }
    lines.append("coalesced \(ledger.coalesced)  lost \(ledger.lost)  unconfirmed \(unconfirmed)")
    if isChecked {
      lines.append("\(verdict.0.rawValue): \(verdict.reason)")
    }
    return lines
  }

  /// A limitation that is not the hub's fault, but must not be overlooked.
  var remark: String? { shortfall.map { "! \($0); latencies count from when a write was due" } }

  private func row(_ name: String, _ cells: [String]) -> String {
    name.padded(to: 18, isNumber: false) + cells.map { $0.padded(to: 10, isNumber: true) }.joined()
  }

  /// One bar per time, on a logarithmic scale from 10 µs, the lowest, to 1 s.
  private func bars(_ times: [UInt64?]) -> String {
    let heights: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    return String(
      times.map { time in
        guard let time, time > 0 else { return " " }
        var (height, bound) = (0, 10_000.0)
        while Double(time) > bound, height < heights.count - 1 { (height, bound) = (height + 1, bound * 5.18) }
        return heights[height]
      })
  }

  // MARK: For scripts

  /// A test pins the names; all times are milliseconds.
  func json(isChecked: Bool) -> JSON {
    var members: [JSON.Member] = [
      .init("profile", .string(plan.profile.rawValue)), .init("hub", .string(hub)),
      .init("durability", .string(durability)), .init("peers", .integer(Int64(plan.peers))),
      .init("offered", .number(plan.rate)), .init("achieved", .number(achieved.rounded(places: 3))),
      .init("writes", .integer(Int64(ledger.written))), .init("seconds", .number(seconds.rounded(places: 3))),
      .init("late", json(of: ledger.late)), .init("local", json(of: ledger.local)),
      .init("committed", json(of: ledger.committed)),
      .init("seen", json(of: ledger.seen)), .init("folded", .integer(Int64(ledger.coalesced))),
      .init("lost", .integer(Int64(ledger.lost))), .init("unconfirmed", .integer(Int64(unconfirmed))),
    ]
    if isChecked {
      members += [.init("verdict", .string(verdict.0.rawValue)), .init("reason", .string(verdict.reason))]
    }
    return .object(members)
  }

  private func json(of latencies: Latencies) -> JSON {
    let greatest = latencies.count > 0 ? latencies.greatest : nil
    let times = BenchResult.shares.map { ($0.name, latencies.percentile($0.share)) } + [("max", greatest)]
    return .object(
      times.map { name, time in .init(name, milliseconds(time).map { .number($0.rounded(places: 3)) } ?? .null) })
  }

  private func milliseconds(_ nanoseconds: UInt64?) -> Double? { nanoseconds.map { Double($0) / 1e6 } }
}

extension Double {
  fileprivate func rounded(places: Int) -> Double {
    var factor = 1.0
    for _ in 0..<places { factor *= 10 }
    return (self * factor).rounded() / factor
  }

  /// With all three decimal places.
  fileprivate var fixed: String {
    let text = rounded(places: 3).description
    guard let point = text.firstIndex(of: ".") else { return text }
    return text + String(repeating: "0", count: max(0, 4 - text.distance(from: point, to: text.endIndex)))
  }
}

extension String {
  fileprivate func padded(to width: Int, isNumber: Bool) -> String {
    let space = String(repeating: " ", count: max(isNumber ? 1 : 0, width - count))
    return isNumber ? space + self : self + space
  }
}
