import BindingProtocol

/// What each version of one model was, in each epoch of its log.
struct VersionLog {
  private struct Step {
    var entry: LogOracle.Entry?
    var state: LogOracle.State?
  }
  private struct EpochLog {
    let epoch: Epoch
    /// By version, from 0.
    var steps: [Step] = []
  }
  private var epochs: [EpochLog] = []

  func entry(_ epoch: Epoch, _ version: Version) -> LogOracle.Entry? {
    index(holding: version, of: epoch).flatMap { epochs[$0].steps[Int(version)].entry }
  }

  func state(_ epoch: Epoch, _ version: Version) -> LogOracle.State? {
    index(holding: version, of: epoch).flatMap { epochs[$0].steps[Int(version)].state }
  }

  mutating func set(_ entry: LogOracle.Entry, _ epoch: Epoch, _ version: Version) {
    let index = makeStep(epoch, version)
    epochs[index].steps[Int(version)].entry = entry
  }

  mutating func set(_ state: LogOracle.State, _ epoch: Epoch, _ version: Version) {
    let index = makeStep(epoch, version)
    epochs[index].steps[Int(version)].state = state
  }

  /// The index of the last log of that epoch that has reached the version; nil if none has.
  private func index(holding version: Version, of epoch: Epoch) -> Int? {
    epochs.indices.last { epochs[$0].epoch == epoch && version < epochs[$0].steps.count }
  }

  private mutating func makeStep(_ epoch: Epoch, _ version: Version) -> Int {
    let known = epochs.indices.last { epochs[$0].epoch == epoch }
    let index = known ?? epochs.count
    if known == nil { epochs.append(EpochLog(epoch: epoch)) }
    while epochs[index].steps.count <= Int(version) { epochs[index].steps.append(Step()) }
    return index
  }
}
