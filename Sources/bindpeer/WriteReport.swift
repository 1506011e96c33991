import BindingPeer
import BindingTerminal
import Dispatch

/// Sends a write and reports its outcome, in words or JSON, with the matching exit code.
struct WriteReport {
  let common: CommonOptions
  let model: SharedModel
  /// What to do about a conflict, as the end of its message; nil: what helps after `set --if-version`.
  var conflictAdvice: String?

  /// - Parameter base: the previous content of the one text that is written.
  func send(_ proposal: Proposal, editedFrom base: String? = nil, noWait: Bool = false) async throws {
    let before = Dictionary(
      proposal.operations.compactMap { operation in
        model.record(operation.field)?.shown.map { (operation.field, $0) }
      }, uniquingKeysWith: { first, _ in first })
    let version = model.version.version
    let begin = DispatchTime.now().uptimeNanoseconds
    let write: PendingWrite
    do {
      if let base, let (field, text) = proposal.onlyText {
        write = try model.write(text, to: field, editedFrom: base)
      } else {
        write = try model.write(proposal)
      }
    } catch {
      throw Failure(.doesNotFit, "\(error)")
    }
    if noWait {
      let id = model.id
      let fields = proposal.operations.map(\.field)
      guard await model.whenSent(fields, timeout: common.timeout.duration) else {
        throw Failure(.timedOut, "The write to \(id) was not sent within \(common.timeout.milliseconds) ms.")
      }
      return
    }
    guard let outcome = await write.outcome(timeout: common.timeout.duration) else {
      throw Failure(
        .timedOut,
        "No answer within \(common.timeout.milliseconds) ms\(model.status.delay). The write may still be committed. "
          + (common.outboxPath.map { "It stays in \($0); the next bindpeer with this outbox sends it again. " } ?? "")
          + "To check:  bindpeer get \(model.id)"
      )
    }
    let milliseconds = Double(DispatchTime.now().uptimeNanoseconds - begin) / 1_000_000
    try report(outcome, proposal, current: write.current, before: before, version: version, milliseconds)
  }

  private func report(
    _ outcome: Outcome, _ proposal: Proposal, current: [String: FieldValue], before: [String: FieldValue],
    version: Version, _ milliseconds: Double
  ) throws {
    if common.json { outcome.json(model: model.id, current: current, milliseconds: milliseconds).print() }
    switch outcome {
    case .committed(_, let new):
      guard !common.json else { return }
      Terminal.print("\(model.id)  \(version) → \(new)   \(milliseconds.formatted(places: 1)) ms")
      for operation in proposal.operations where operation.verb != .clear {
        let after = operation.verb == .add || operation.verb == .insert ? model.record(operation.field)?.shown : nil
        let (old, now) = (before[operation.field], after ?? operation.value)
        let (from, to) = (model.readable(old, of: operation.field), model.readable(now, of: operation.field))
        let words = operation.verb == .move ? "moved" : "\(from) → \(to)"
        Terminal.print("  \(FieldTitle.of(operation.field))  \(words)")
      }
    case .unchanged:
      if !common.json { Terminal.print("\(model.id)  unchanged") }
    case .conflict(let conflict):
      let title = "\(model.id).\(FieldTitle.of(conflict.field))"
      let value = conflict.value.map { "set to \(model.readable($0, of: conflict.field))" } ?? "deleted"
      let usual = "To see the value:  bindpeer get \(model.id) --meta        To overwrite it, omit --if-version."
      let since = proposal.conditions.first { $0.field == conflict.field }.map { ", after version \($0.version)" } ?? ""
      throw Failure(
        .conflict,
        """
        refused: \(title) changed at version \(conflict.version)\(since): \(value) by \
        \(conflict.origin.attribution), \(age(conflict.ageMilliseconds)) ago.
        \(conflictAdvice ?? usual)
        """)
    case .refused(let refusal):
      throw Failure(refusal.code == .notPermitted ? .notPermitted : .conflict, refusal.report(on: model.id))
    case .superseded, .expired: throw Failure(.conflict, outcome.explanation(of: model.id))
    // The write may have been applied.
    case .unknown:
      throw Failure(.timedOut, "\(outcome.explanation(of: model.id))\nTo check:  bindpeer get \(model.id)")
    }
  }

  private func age(_ milliseconds: UInt64) -> String {
    milliseconds < 1_000
      ? "\(milliseconds) ms" : milliseconds < 120_000 ? "\(milliseconds / 1_000) s" : "\(milliseconds / 60_000) min"
  }
}

extension Proposal {
  /// The field and the text, if the proposal sets exactly one text.
  var onlyText: (field: String, text: String)? {
    guard operations.count == 1, operations[0].verb == .set, case .string(let text)? = try? operations[0].value?.json
    else { return nil }
    return (operations[0].field, text)
  }
}

extension ModelStatus {
  /// Why a write has no outcome yet, as the rest of a sentence; empty if it was sent and no obstacle is known.
  var delay: String {
    if let waiting { return ": the hub defers it (\(waiting))" }
    if let staleSince {
      let seconds = staleSince.duration(to: .now).components.seconds
      return ": the hub last answered \(seconds == 0 ? "less than a second" : "\(seconds) s") ago"
    }
    return ""
  }
}

extension Outcome {
  /// The outcome for scripts; a test pins the names.
  /// - Parameter milliseconds: how long it took; nil: that is not told.
  func json(model: String, current: [String: FieldValue], milliseconds: Double? = nil) -> JSONLine {
    var line = JSONLine()
    line.add("model", .string(model))
    switch self {
    case .committed(_, let version):
      line.add("outcome", .string("committed"))
      line.add("version", .integer(Int64(clamping: version)))
    case .unchanged: line.add("outcome", .string("unchanged"))
    case .refused(let refusal):
      line.add("outcome", .string("refused"))
      line.add("code", .string("\(refusal.code)"))
      line.add("text", .string(refusal.text))
      line.add("current", values: current.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    case .conflict(let conflict):
      line.add("outcome", .string("conflict"))
      line.add("field", .string(conflict.field))
      line.add("version", .integer(Int64(clamping: conflict.version)))
      line.add("value", conflict.value)
      line.add(conflict.origin)
    case .superseded: line.add("outcome", .string("superseded"))
    case .expired: line.add("outcome", .string("expired"))
    case .unknown(let why):
      line.add("outcome", .string("unknown"))
      line.add("text", .string(why))
    }
    if let milliseconds { line.add("milliseconds", .number((milliseconds * 1_000).rounded() / 1_000)) }
    return line
  }
}

extension Refusal {
  /// The refusal and its reason; if the value does not fit, with the command that shows the allowed values.
  func report(on model: String) -> String {
    // A text about a value already contains its model and field.
    let words = text.hasPrefix("\(model).") ? "refused: \(text)" : "refused: \(model): \(text)"
    return code == .doesNotFit ? "\(words)\nTo see the allowed values:  bindpeer describe \(model)" : words
  }
}

extension Double {
  func formatted(places: Int) -> String {
    var factor = 1.0
    for _ in 0..<places { factor *= 10 }
    return "\((self * factor).rounded() / factor)"
  }
}
