import Foundation

/// Prints figures as a table, or as JSON lines.
struct Report {
  private let asJSON: Bool

  init(asJSON: Bool) {
    self.asJSON = asJSON
    guard !asJSON else { return }
    print("Median of the rounds' ratios, least and greatest in brackets; in the last column the medians themselves.")
  }

  func title(_ text: String) {
    if !asJSON { print("\n\(text)") }
  }

  func add(_ race: Race, _ rounds: [Race.Round]) {
    let ratios = rounds.map(race.ratio)
    let (low, middle, high) = (ratios.min() ?? 0, median(ratios), ratios.max() ?? 0)
    let (ours, theirs) = (median(rounds.map(\.ours)), median(rounds.map(\.theirs)))
    let isMet = race.isMet(middle)
    if asJSON {
      let figures = "\"ratio\":\(middle),\"least\":\(low),\"greatest\":\(high)"
      let medians = "\"ours\":\(ours),\"theirs\":\(theirs)"
      print("{\"case\":\"\(race.name)\",\(figures),\(medians)\(verdict(isMet))}")
    } else {
      let row = String(format: "%5.2f  (%.2f to %.2f)", middle, low, high)
      table(race.name, row, aim(race.aim), isMet, String(format: "%.1f of %.1f ns", ours, theirs))
    }
  }

  func add(_ count: Count, _ figure: Double?) {
    guard let figure else {
      if !asJSON { table(count.name, "not counted on this platform", "", nil, "") }
      return
    }
    let isMet = count.limit.map { figure <= $0 }
    if asJSON {
      print("{\"case\":\"\(count.name)\",\"count\":\(figure)\(verdict(isMet))}")
    } else {
      let row = String(format: "%5.\(count.limit == 0 ? 2 : 1)f", figure)
      table(count.name, row, count.limit.map { String(format: "≤ %.0f", $0) } ?? "", isMet, "")
    }
  }

  private func verdict(_ isMet: Bool?) -> String { isMet.map { ",\"aimMet\":\($0)" } ?? "" }

  private func aim(_ aim: Race.Aim) -> String {
    switch aim {
    case .atMost(let limit): limit.map { String(format: "≤ %.1f", $0) } ?? ""
    case .atLeast(let limit): limit.map { String(format: "≥ %.1f", $0) } ?? ""
    }
  }

  private func table(_ name: String, _ row: String, _ aim: String, _ isMet: Bool?, _ figures: String) {
    let verdict = isMet.map { $0 ? "met" : "not met" } ?? ""
    let columns = [(name, 66), (row, 26), (aim, 8), (verdict, 9)]
    print("  " + columns.map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined() + figures)
  }

  private func median(_ figures: [Double]) -> Double {
    let sorted = figures.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }
}
