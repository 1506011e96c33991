import Foundation

/// The 50th and 99th percentile of some delays, in microseconds.
struct Delays: Codable {
  var p50: Double
  var p99: Double
}

/// Prints figures as a table, or as JSON lines.
struct Report {
  private let asJSON: Bool

  init(asJSON: Bool) {
    self.asJSON = asJSON
    guard !asJSON else { return }
    print("Median of the rounds' ratios, least and greatest in brackets; in the last column the medians themselves.")
  }

  func title(_ text: String, aim: String) {
    if !asJSON { print("\n\(text); \(aim)") }
  }

  func throughput(_ name: String, _ pair: [(ours: Double, bare: Double)]) {
    let ratios = pair.map { $0.ours / $0.bare }
    let figures = "\(millions(median(pair.map(\.ours)))) of \(millions(median(pair.map(\.bare)))) M/s"
    report(name, "throughput", ratios, isMet: median(ratios) >= 0.5, figures)
  }

  func latency(_ name: String, _ pair: [(ours: Delays, bare: Delays)]) {
    for (label, path) in [("p50", \Delays.p50), ("p99", \Delays.p99)] {
      let ratios = pair.map { $0.ours[keyPath: path] / $0.bare[keyPath: path] }
      let mine = median(pair.map { $0.ours[keyPath: path] })
      let bare = median(pair.map { $0.bare[keyPath: path] })
      report(
        "\(name), \(label)", "latency", ratios, isMet: label == "p50" ? median(ratios) <= 1.3 : nil,
        String(format: "%.0f of %.0f µs", mine, bare))
    }
  }

  private func report(_ name: String, _ measure: String, _ ratios: [Double], isMet: Bool?, _ figures: String) {
    let (low, middle, high) = (ratios.min() ?? 0, median(ratios), ratios.max() ?? 0)
    if asJSON {
      let aim = isMet.map { ",\"aimMet\":\($0)" } ?? ""
      let figures = "\"ratio\":\(middle),\"least\":\(low),\"greatest\":\(high)"
      print("{\"case\":\"\(name)\",\"measure\":\"\(measure)\",\(figures)\(aim)}")
    } else {
      let verdict = isMet.map { $0 ? "met" : "not met" } ?? ""
      let row = String(format: "%5.2f  (%.2f to %.2f)", middle, low, high)
      print(
        "  " + name.padding(toLength: 52, withPad: " ", startingAt: 0) + row + "  "
          + verdict.padding(toLength: 8, withPad: " ", startingAt: 0) + figures)
    }
  }

  private func millions(_ number: Double) -> String { String(format: "%.2f", number / 1e6) }

  private func median(_ figures: [Double]) -> Double {
    let sorted = figures.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }
}
