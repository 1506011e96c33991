import BindingPeer
import BindingProtocol
import Dispatch
import Foundation

/// Writes the history of one peer. Each line is passed to the system before the call returns, so that it survives
/// any end of the process.
final class HistoryWriter: Sendable {
  private let file: Protected<FileHandle>

  /// - Throws: a `POSIXError` if the file cannot be made.
  init(path: String) throws {
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    file = Protected(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
  }

  /// A history with a missing line would accuse the hub wrongly, so this program ends instead.
  func record(_ kind: String, _ members: [JSON.Member]) {
    file.withLock { file in
      let line = JSON.object(
        [.init("t", .unsigned(DispatchTime.now().uptimeNanoseconds)), .init("e", .string(kind))] + members)
      do { try file.write(contentsOf: line.bytes + [UInt8(ascii: "\n")]) } catch {
        FileHandle.standardError.write(Data("bindlab: the history cannot be written: \(error)\n".utf8))
        exit(74)
      }
    }
  }

  func submit(_ id: Int, to model: String, _ operations: [JSON], conditions: [Condition] = []) {
    var members: [JSON.Member] = [
      .init("w", .unsigned(UInt64(id))), .init("m", .string(model)), .init("ops", .array(operations)),
    ]
    if !conditions.isEmpty {
      let list = conditions.map { JSON.array([.string($0.field), .unsigned($0.epoch), .unsigned($0.version)]) }
      members.append(.init("if", .array(list)))
    }
    record("submit", members)
  }

  func outcome(of id: Int, _ outcome: Outcome) {
    var members: [JSON.Member] = [.init("w", .unsigned(UInt64(id))), .init("as", .string(outcome.word))]
    if case .committed(let epoch, let version) = outcome {
      members += [.init("epoch", .unsigned(epoch)), .init("version", .unsigned(version))]
    } else {
      members.append(.init("why", .string(outcome.explanation(of: ""))))
    }
    record("outcome", members)
  }

  func update(_ update: ModelUpdate, missed: UInt64) {
    guard !update.changes.isEmpty || update.cause != .local else { return }
    var members = position(update.model, (update.epoch, update.version))
    members.append(.init("changes", .object(update.changes.map { .init($0.field, $0.new.shownJSON) })))
    if missed > 0 { members.append(.init("missed", .unsigned(missed))) }
    record("update", members)
  }

  func final(_ model: SharedModel) {
    let values = model.values.sorted { $0.key < $1.key }.map { JSON.Member($0.key, Optional($0.value).shownJSON) }
    record("final", position(model.id, model.version) + [.init("values", .object(values))])
  }

  private func position(_ model: String, _ version: (epoch: Epoch, version: Version)) -> [JSON.Member] {
    [
      .init("m", .string(model)), .init("epoch", .unsigned(version.epoch)),
      .init("version", .unsigned(version.version)),
    ]
  }
}

extension FieldValue? {
  /// `null` for none.
  var shownJSON: JSON { flatMap { try? $0.json } ?? .null }
}

extension Outcome {
  /// The outcome's word in a history.
  var word: String {
    switch self {
    case .committed: "committed"
    case .unchanged: "unchanged"
    case .refused: "refused"
    case .conflict: "conflict"
    case .superseded: "superseded"
    case .expired: "expired"
    case .unknown: "unknown"
    }
  }
}
