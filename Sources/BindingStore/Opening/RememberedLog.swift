import BindingHub
import BindingProtocol
import Foundation

/// Which log a store is and its last epoch, in a small file beside it (`path.log-id`): so that a store that was deleted
/// or damaged can be the same log again, and no hub begins another log where there was one.
struct RememberedLog: Hashable {
  var logID: LogID
  var epoch: Epoch
  /// A hub saw that the end of the log was taken away while it had the store open.
  var isTailLost = false

  static func path(of store: String) -> String { store + ".log-id" }

  /// nil: none was written, or what is there cannot be read.
  static func read(at store: String) -> RememberedLog? {
    guard let text = try? String(contentsOfFile: path(of: store), encoding: .utf8) else { return nil }
    let lines = text.split(separator: "\n")
    guard lines.count >= 3, lines[0] == "bindhub store 1", let logID = UInt64(lines[1], radix: 16),
      let epoch = UInt64(lines[2], radix: 16)
    else { return nil }
    return RememberedLog(logID: logID, epoch: epoch, isTailLost: lines.dropFirst(3).first == "tail lost")
  }

  /// Writes it where it is not there already. It comes after the store's own row of it, so it never is ahead of that.
  /// A disk without room for it is none for the store either, so it is not asked for then.
  func write(at store: String) throws(StoreError) {
    guard RememberedLog.read(at: store) != self else { return }
    let path = RememberedLog.path(of: store)
    let text = "bindhub store 1\n\(String(logID, radix: 16))\n\(String(epoch, radix: 16))\n"
    let code = StoreFiles.replace(path, by: Array((text + (isTailLost ? "tail lost\n" : "")).utf8))
    if ![0, ENOSPC, EDQUOT].contains(code) { throw StoreFiles.cannotWrite(path, code) }
    if code == 0 { try StoreFiles.syncDirectory(of: path) }
  }
}
