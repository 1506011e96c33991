import BindingPeer
import BindingTerminal
import Foundation

/// A mirror under way: takes what the file has to the model, and what the model has to the file.
final class MirrorRun {
  /// How often the file is looked at.
  private static let pause = Duration.milliseconds(100)
  /// Editors remove a file for a moment while they save it: so many looks may not find it.
  private static let mostAbsences = 20

  private let peer: Peer
  private let model: SharedModel
  private let path: String
  private let common: CommonOptions
  private var file: MirroredFile
  private var document: any MirrorDocument = JSONDocument()
  private var state = MirrorState()
  /// The writes without an outcome, and whether one was refused.
  private var writes: [PendingWrite] = []
  private var isRefused = false
  /// What is wrong with the text that is there now; nil: nothing.
  private var fault: MirrorFault?

  init(peer: Peer, model: SharedModel, path: String, common: CommonOptions) {
    (self.peer, self.model, self.path, self.common) = (peer, model, path, common)
    file = MirroredFile(path)
  }

  /// Makes both the same for the first time.
  func start<Document: MirrorDocument>(with format: Document.Type, taking side: Mirror.Side?) async throws(Failure) {
    let present = model.fields
    guard let text = try file.read() else {
      guard !present.isEmpty else {
        throw Failure(.no, "\(model.id) has no fields, and \(excerpt(path)) is not there.")
      }
      document = Document()
      return try writeFile()
    }
    let values: [String: FieldValue]
    do throws(MirrorFault) {
      document = try Document(text)
      values = try self.values()
    } catch {
      throw Failure(.doesNotFit, "Line \(error.line) of \(excerpt(path)) \(error.words).")
    }
    let differing = MirrorState.differences(present, values)
    guard differing.isEmpty || side != nil else {
      throw Failure(
        .conflict,
        """
        \(model.id) and \(excerpt(path)) differ in \(differing.joined(separator: ", ")).
        Say whose values count:  --take model        or  --take file
        """)
    }
    let taken = values.filter { present[$0.key] == nil || side == .file && present[$0.key] != $0.value }
    take(taken.sorted { $0.key < $1.key }.map { .init(field: $0.key, before: present[$0.key], value: $0.value) })
    state = MirrorState(values)
    try writeFile()
  }

  /// Waits for the outcomes.
  func settle() async throws(Failure) {
    let end = ContinuousClock.now + common.timeout.duration
    for write in writes {
      guard let outcome = await write.outcome(timeout: max(.zero, end - .now)) else {
        throw Failure(.timedOut, "No outcome yet of what was written to \(model.id).")
      }
      note(outcome, of: write)
    }
    try writeFile()
    if isRefused { throw Failure(.conflict, "\(excerpt(path)) has what \(model.id) has instead.") }
  }

  /// Goes on until a signal ends the program, or the file is removed.
  /// - Returns: the signal. What was taken from the file may still have no outcome.
  func follow() async throws -> Int32 {
    let end = Protected<Int32?>(nil)
    let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { end.withLock { $0 = number } }
      source.activate()
      return source
    }
    defer { for source in sources { source.cancel() } }
    let isModelChanged = Protected(true)
    let token = model.observe { _, _ in isModelChanged.withLock { $0 = true } }
    defer { token.cancel() }
    var absences = 0
    while true {
      if let number = end.withLock({ $0 }) { return number }
      if case .stopped(let reason) = peer.status.phase { throw reason.failure }
      absences = file.state == .absent ? absences + 1 : 0
      if absences > MirrorRun.mostAbsences { throw Failure(.no, "\(excerpt(path)) was removed. The model stays.") }
      if file.state == .changed { try readFile() }
      takeOutcomes()
      if absences == 0, fault == nil {
        let isChanged = isModelChanged.withLock { isChanged in
          defer { isChanged = false }
          return isChanged
        }
        if isChanged { try writeFile() }
      }
      try await Task.sleep(for: MirrorRun.pause)
    }
  }

  // MARK: - From the file

  private func readFile() throws(Failure) {
    guard let text = try file.read() else { return }
    let values: [String: FieldValue]
    do throws(MirrorFault) {
      document = try type(of: document).init(text)
      values = try self.values()
    } catch {
      if fault != error { Terminal.complain("line \(error.line) of \(excerpt(path)) \(error.words); nothing is taken") }
      fault = error
      return
    }
    fault = nil
    take(state.take(values))
    // What others have written meanwhile is not in this text.
    try writeFile()
  }

  private func values() throws(MirrorFault) -> [String: FieldValue] {
    let declared = model.modelDescription.fields
    var values: [String: FieldValue] = [:]
    for entry in document.fields {
      let field = model.storedName(of: entry.name)
      values[field] = try entry.value(as: declared[field])
    }
    return values
  }

  /// Writes changes of the file as one commit. Texts that others may edit at the same time are merged, each by itself.
  private func take(_ changes: [MirrorState.Change]) {
    for change in changes { report(change, to: "model") }
    var operations: [FieldOperation] = []
    do {
      for change in changes {
        if let write = try model.merge(change.value, into: change.field, editedFrom: change.before) {
          writes.append(write)
        } else if let value = change.value {
          operations += try model.operations(setting: change.field, to: value)
        } else {
          operations.append(FieldOperation(.delete, change.field))
        }
      }
      if !operations.isEmpty { writes.append(try model.write(Proposal(operations: operations))) }
    } catch {
      isRefused = true
      Terminal.complain("not written to \(model.id): \(error)")
    }
  }

  private func takeOutcomes() {
    writes.removeAll { write in
      guard let outcome = write.outcomeSoFar else { return false }
      note(outcome, of: write)
      return true
    }
  }

  private func note(_ outcome: Outcome, of write: PendingWrite) {
    switch outcome {
    case .committed, .unchanged, .superseded: return
    case .refused(let refusal): Terminal.complain("not written: \(refusal.report(on: model.id))")
    default: Terminal.complain("not written: \(outcome.explanation(of: write.fields.joined(separator: ", ")))")
    }
    isRefused = true
  }

  // MARK: - To the file

  /// Gives the file what the model has, if it is not the same. What somebody has just saved is read first.
  private func writeFile() throws(Failure) {
    if file.state == .changed { return }
    let changes = state.take(model.fields)
    guard !changes.isEmpty || file.state == .absent else { return }
    let names = Dictionary(document.fields.map { (model.storedName(of: $0.name), $0.name) }) { first, _ in first }
    for change in changes {
      document.set(names[change.field] ?? change.field, to: change.value)
      report(change, to: "file")
    }
    try file.write(document.text)
  }

  private func report(_ change: MirrorState.Change, to side: String) {
    guard common.json else {
      func words(_ value: FieldValue?) -> String { model.readable(value, of: change.field) }
      let arrow = side == "file" ? "→ \(excerpt(path))" : "→ \(model.id)"
      let now = UInt64(Date().timeIntervalSince1970 * 1_000)
      let line = "\(Terminal.clock(now))  \(change.field) \(words(change.before)) → \(words(change.value))"
      return Terminal.print("\(line)        \(Terminal.dim(arrow))")
    }
    var line = JSONLine()
    line.add("model", .string(model.id))
    line.add("field", .string(change.field))
    line.add("to", .string(side))
    line.add("value", change.value)
    line.print()
  }
}
