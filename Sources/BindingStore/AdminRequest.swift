package import BindingHub
import Foundation

/// Admin requests to the hub that has a store open: a file beside the store, for any user who may write there.
///
/// `PATH.wish` holds one line: `compact`, `restore BACKUP`, or `drop MODEL [before VERSION|field FIELD]`. The hub looks
/// for it about three times a second, and removes it when the request is fulfilled. It renames a request that it cannot
/// fulfil to `PATH.wish.refused`, with the reason in it.
package enum AdminRequest: Sendable, Hashable {
  /// Compact the store, and make its file as small as possible.
  case compact
  /// Restore the store from this backup; the path is absolute.
  case restore(String)
  /// Remove something from the history of a model.
  case drop(HistoryDrop)

  /// Leaves the request beside the store at `path`. It replaces an earlier one.
  /// - Throws: `StoreError` when the file cannot be written.
  package func leave(at path: String) throws(StoreError) {
    for file in [AdminRequest.refusal(of: path), AdminRequest.report(of: path)] { unlink(file) }
    let code = StoreFiles.replace(AdminRequest.file(of: path), by: Array("\(line)\n".utf8))
    guard code == 0 else {
      let cure = [ENOSPC, EDQUOT].contains(code) ? "Free some space." : "Run this as the hub's user."
      throw StoreError(
        "Cannot write \(AdminRequest.file(of: path)): \(String(cString: strerror(code))). \(cure)", .cannotOpen)
    }
  }

  /// The state of a request that was left at a store.
  package enum Result: Sendable, Hashable {
    /// The hub has not begun.
    case waiting
    /// The hub has begun; the text says how far it is.
    case underWay(String)
    /// The hub is done. The text says what it did; empty: what the request says.
    case fulfilled(String)
    /// The hub cannot fulfil it, with the reason.
    case refused(String)

    /// Whether it may still be fulfilled.
    package var isOpen: Bool {
      switch self {
      case .waiting, .underWay: true
      case .fulfilled, .refused: false
      }
    }
  }

  /// The state of the request left at the store at `path`. Reading a report removes it.
  package static func result(at path: String) -> Result {
    if let reason = try? String(contentsOfFile: refusal(of: path), encoding: .utf8) { return .refused(reason) }
    if let text = try? String(contentsOfFile: file(of: path), encoding: .utf8) {
      let lines = text.split(separator: "\n")
      return lines.count > 1 ? .underWay(String(lines[1])) : .waiting
    }
    if StoreFiles.exists(file(of: path)) { return .waiting }
    let report = (try? String(contentsOfFile: report(of: path), encoding: .utf8)) ?? ""
    unlink(self.report(of: path))
    return .fulfilled(report)
  }

  /// Reports the hub's progress, unless the request was withdrawn.
  func report(_ progress: String, at path: String) {
    let file = AdminRequest.file(of: path)
    guard StoreFiles.exists(file) else { return }
    try? Data("\(line)\n\(progress)\n".utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
  }

  /// Ends a fulfilled request and leaves a report.
  static func end(_ report: String, at path: String) {
    try? Data(report.utf8).write(to: URL(fileURLWithPath: self.report(of: path)), options: .atomic)
    withdraw(at: path)
  }

  /// Withdraws a request that is not fulfilled.
  package static func withdraw(at path: String) { unlink(file(of: path)) }

  private static func file(of path: String) -> String { path + ".wish" }
  private static func report(of path: String) -> String { path + ".wish.done" }
  private static func refusal(of path: String) -> String { path + ".wish.refused" }

  private var line: String {
    switch self {
    case .compact: "compact"
    case .restore(let backup): "restore \(backup)"
    case .drop(let drop): "drop \(drop.line)"
    }
  }

  /// The request left at a store; an unknown one is refused.
  static func find(at path: String) -> AdminRequest? {
    guard StoreFiles.exists(file(of: path)), let text = try? String(contentsOfFile: file(of: path), encoding: .utf8)
    else { return nil }
    let line = text.split(separator: "\n").first.map(String.init) ?? ""
    if line == "compact" { return .compact }
    if line.hasPrefix("restore /") { return .restore(String(line.dropFirst(8))) }
    if line.hasPrefix("drop "), let drop = HistoryDrop(line: line.dropFirst(5)) { return .drop(drop) }
    refuse(at: path, "'\(line.prefix(80))' is not a request: use 'compact', 'restore /PATH' or 'drop MODEL'")
    return nil
  }

  static func refuse(at path: String, _ reason: String) {
    try? Data(reason.utf8).write(to: URL(fileURLWithPath: refusal(of: path)), options: .atomic)
    withdraw(at: path)
  }
}
