import BindingHub
import BindingProtocol
import Foundation

/// A store's log id and last epoch, in a small file beside it (`path.log-id`). With it a deleted or damaged store
/// can be recreated as the same log, and no hub begins another log in its place.
struct RememberedLog: Hashable {
  var logID: LogID
  var epoch: Epoch
  /// A hub found that the end of the log was removed while it had the store open; or that it is missing, and its peers
  /// have not had the time to bring it back.
  var isTailLost = false

  static func path(of store: String) -> String { store + ".log-id" }

  /// nil: the file is missing or cannot be read.
  static func read(at store: String) -> RememberedLog? {
    guard let text = try? String(contentsOfFile: path(of: store), encoding: .utf8) else { return nil }
    let lines = text.split(separator: "\n")
    guard lines.count >= 3, lines[0] == "bindhub store 1", let logID = UInt64(lines[1], radix: 16),
      let epoch = UInt64(lines[2], radix: 16)
    else { return nil }
    return RememberedLog(logID: logID, epoch: epoch, isTailLost: lines.dropFirst(3).first == "tail lost")
  }

  /// Writes the file unless it is up to date. It follows the store's own metadata, so it is never ahead of that. A
  /// disk too full for it is too full for the store as well, so that error is ignored.
  func write(at store: String) throws(StoreError) {
    guard RememberedLog.read(at: store) != self else { return }
    let path = RememberedLog.path(of: store)
    let text = "bindhub store 1\n\(String(logID, radix: 16))\n\(String(epoch, radix: 16))\n"
    let code = StoreFiles.replace(path, by: Array((text + (isTailLost ? "tail lost\n" : "")).utf8))
    if ![0, ENOSPC, EDQUOT].contains(code) { throw StoreFiles.cannotWrite(path, code) }
    if code == 0 { try StoreFiles.syncDirectory(of: path) }
  }
}
