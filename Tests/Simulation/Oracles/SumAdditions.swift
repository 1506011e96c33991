import BindingProtocol

/// The additions that a counter contains, by epoch of the log: only 1 is ever added and nothing else is written, so
/// the counter equals their count.
struct SumAdditions {
  private var additions: [Epoch: [LogOracle.Name]] = [:]
  /// What an epoch contained before its log lost its end and went on: replicas of that epoch may have it all.
  private var lost: [Epoch: [LogOracle.Name]] = [:]
  private var present: Epoch = 0
  /// The peer that recovered the counter in the present epoch.
  private var offerer: Tag?

  /// An epoch begins, or goes on, with what the log has left.
  mutating func begin(_ epoch: Epoch, at sum: Int64) {
    let left = Array((additions[present] ?? []).prefix(Int(clamping: sum)))
    if let former = additions[epoch], former.count > left.count { lost[epoch] = former }
    additions[epoch] = left
    (present, offerer) = (epoch, nil)
  }

  mutating func bring(_ sum: Int64, from old: Epoch, into epoch: Epoch, by offerer: Tag) {
    let held = additions[old] ?? []
    let known = held.count < sum ? lost[old] ?? held : held
    additions[epoch] = Array(known.prefix(Int(clamping: sum)))
    self.offerer = offerer
  }

  /// - Returns: nil if it was not contained; else the peer that recovered the counter, if any.
  mutating func add(_ name: LogOracle.Name, in epoch: Epoch) -> Tag?? {
    defer { additions[epoch, default: []].append(name) }
    return additions[epoch, default: []].contains(name) ? .some(offerer) : nil
  }
}
