import BindingKeys
import Logging

/// Writes down, once each, what administrators have removed from histories.
struct DropRecords {
  /// The last one that is written down.
  private var last = 0

  mutating func record(_ drops: [StoreStatus.Drop], _ log: Logger, _ admissions: Admissions?) {
    guard let newest = drops.last, newest.number > last else { return }
    for drop in drops where drop.number > last {
      log.notice("dropped from history", metadata: ["what": "\(drop.words)"])
      admissions?.audit.record(.historyDropped(drop.words))
    }
    last = newest.number
  }
}
