package import BindingHub
import Foundation

/// How long the first hub that serves a recreated store waits for the replicas of peers: a small file beside the store
/// (`path.recovering`), which `bindhub recover` leaves.
package enum RecoveryWait {
  private static func path(of store: String) -> String { store + ".recovering" }

  /// A file older than this does not count: nobody waits for those peers any more.
  private static let oldest: TimeInterval = 24 * 3_600

  /// - Parameter milliseconds: how long the hub waits.
  package static func leave(_ milliseconds: UInt64, at store: String) throws(StoreError) {
    let path = path(of: store)
    let code = StoreFiles.replace(path, by: Array("\(milliseconds)\n".utf8))
    guard code == 0 else { throw StoreFiles.cannotWrite(path, code) }
  }

  /// How long a hub that starts now with this store waits, in milliseconds; 0: not at all.
  package static func read(at store: String) -> UInt64 {
    let path = path(of: store)
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let made = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date,
      abs(made.timeIntervalSinceNow) < oldest, let line = text.split(separator: "\n").first
    else { return 0 }
    return UInt64(line) ?? 0
  }

  /// The hub has waited.
  package static func remove(at store: String) { unlink(path(of: store)) }
}
