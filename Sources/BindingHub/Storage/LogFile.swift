import BindingProtocol
import Foundation

/// The memory of a hub without a store: its log id and last epoch, in a file beside the socket. A hub restarted at
/// the same place serves the same log in a new epoch, and its peers offer what they have.
struct LogFile {
  private let path: String?

  /// - Parameter address: nil for a hub without an address, which remembers nothing.
  init(for address: HubAddress?) {
    switch address?.transport {
    case .ipc: path = address.map { "\($0.hostOrPath).log" }
    case .tcp:
      let home = HubAddress.userDefault.hostOrPath
      path = address.map { "\(home).tcp-\($0.port ?? 0).log" }
    case nil: path = nil
    }
  }

  /// The store of the hub that starts now; its epoch is recorded for the next start.
  func nextStore() throws(HubError) -> MemoryStore {
    let before = path.flatMap(LogFile.read)
    let logID = before?.logID ?? UInt64.random(in: 1 ... .max)
    // The upper half counts up, so that a later epoch is a greater number. The lower half is random, so that two
    // epochs never share one.
    let ordinal = (before.map { $0.epoch >> 32 } ?? 0) + 1
    let epoch = ordinal << 32 | UInt64(UInt32.random(in: 1 ... .max))
    do throws(StoreError) {
      try record(logID: logID, epoch: epoch)
    } catch {
      throw .directory(path: path.map(LogFile.directory) ?? "", problem: error.description)
    }
    return MemoryStore(logID: logID, epoch: epoch, tail: before == nil ? .proven : .unproven)
  }

  /// Records the log's epoch, so that a later one is never lower.
  func record(logID: LogID, epoch: Epoch) throws(StoreError) {
    guard let path else { return }
    try? FileManager.default.createDirectory(
      atPath: LogFile.directory(path), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    do {
      try Data("bindhub log 1\n\(logID)\n\(epoch)\n".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw StoreError("Cannot write \(path): \(error.localizedDescription)")
    }
  }

  private static func directory(_ path: String) -> String { (path as NSString).deletingLastPathComponent }

  private static func read(_ path: String) -> (logID: LogID, epoch: Epoch)? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let lines = text.split(separator: "\n")
    guard lines.count == 3, lines[0] == "bindhub log 1", let logID = UInt64(lines[1]), let epoch = UInt64(lines[2])
    else { return nil }
    return (logID, epoch)
  }
}
