import ArgumentParser
import BindingPeer
import BindingTerminal
import Dispatch

/// Writes standard input to fields, and prints changes to standard output, as JSON lines.
struct Pipe: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write each line of standard input, a JSON object of fields, as one commit; print each change as JSON.",
    discussion: """
      Values are sent byte for byte; null deletes a field. At the end of the input, pipe waits for the outcomes, at \
      most for --timeout. Exit codes: 0 every line took effect or was superseded by a later one. Otherwise an error \
      names the lines: 65 a line is not a JSON object or does not fit, 75 the outcome of a line is unknown, 3 a line \
      was refused, or the hub ended the session.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL")
  var model: String
  @Flag(
    help: "Write ephemeral fields, which exist as long as this runs. @me is the announcement of this peer to others.")
  var ephemeral = false
  @Flag(name: .customLong("keep-going"), help: "Continue after a line that is not a JSON object or does not fit.")
  var keepsGoing = false

  mutating func run() async throws {
    let address = try Address(model)
    guard !address.isPrefix, address.field == nil else { throw Failure(.usage, "pipe needs a model") }
    let peer = try await common.connect(patiently: true)
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    var models = try await reader.read([address])
    if ephemeral { models = try await reader.ephemeral(of: models) }
    let shared = models[0].1
    let printer = WatchPrinter(json: true, count: nil) {}
    printer.follow(shared, field: nil, fromNow: true)
    let lines = Protected(PipedLines(model: shared.id))
    let outbox = common.outboxPath
    let watching = peer.observeStatus { status in
      guard case .stopped(let reason) = status.phase, reason != .closed else { return }
      // Deferred to another thread: the writes get their outcomes only after this call.
      DispatchQueue.global().async {
        // No more lines can be written, so the program need not wait for its input.
        guard let failure = lines.withLock({ $0.end(stopped: reason, outbox: outbox) }) else { return }
        Terminal.complain(failure.text)
        Terminal.leave(failure.code)
      }
    }
    var input = LineReader()
    while let line = input.next() {
      let isGood = lines.withLock { lines in
        lines.write(line, to: shared)
        lines.report()
        return lines.bad.isEmpty
      }
      if !isGood, !keepsGoing { break }
    }
    let limit = ContinuousClock.now + common.timeout.duration
    for write in lines.withLock({ $0.open }) { _ = await write.outcome(timeout: max(.zero, limit - .now)) }
    let phase = peer.status.phase
    guard
      let failure = lines.withLock({ lines in
        if case .stopped(let reason) = phase { return lines.end(stopped: reason, outbox: outbox).map(Failure?.some) }
        return lines.end(after: common.timeout, outbox: outbox)
      })
    else {
      // The hub has just ended the session; the observer of that ends the program.
      while true { try await Task.sleep(for: .seconds(60)) }
    }
    let left = await peer.close(flush: .zero)
    withExtendedLifetime(watching) {}
    if let failure { throw failure }
    if !left.isEmpty { throw Failure(.timedOut, "No outcome yet for \(excerpt(left.joined(separator: ", "))).") }
  }
}

/// The lines of `pipe` and their outcomes.
struct PipedLines {
  private let model: String
  private(set) var count = 0
  /// The lines without an outcome, in order.
  private var sent: [(line: Int, write: PendingWrite)] = []
  /// The lines that were not valid writes, that were refused, and whose outcome is unknown.
  private(set) var bad: [Int] = []
  private var refused: [Int] = []
  private var unknown: [Int] = []
  private var hasEnded = false

  /// The writes that had no outcome at the last check.
  var open: [PendingWrite] { sent.map(\.write) }

  init(model: String) { self.model = model }

  mutating func write(_ line: [UInt8], to shared: SharedModel) {
    count += 1
    guard line.count <= LineReader.longestLine else {
      return reject("line \(count) has more than \(LineReader.longestLine) bytes")
    }
    guard let members = JSON.members(ofText: line) else {
      let hint =
        line.withUnsafeBytes { UTF8Check.isValid($0) }
        ? "" : "\nThe line is not valid UTF-8. Write bytes in JSON as {\"$bytes\":\"<base64>\"}."
      let text = excerpt(String(decoding: line.prefix(1_000), as: UTF8.self), limit: 80)
      return reject("line \(count) is not a JSON object of fields: \(text)\(hint)")
    }
    let operations = members.map { name, value in
      value.bytes.elementsEqual(JSON.null.bytes) ? FieldOperation(.delete, name) : FieldOperation(.set, name, value)
    }
    do throws(WriteError) {
      sent.append((count, try shared.write(Proposal(operations: operations))))
    } catch .stopped {
      unknown.append(count)
    } catch {
      reject("line \(count): \(error)")
    }
  }

  private mutating func reject(_ words: String) {
    Terminal.complain(words)
    bad.append(count)
  }

  /// Reports the new outcomes, except successful ones.
  mutating func report() {
    let known = sent.prefix { $0.write.outcomeSoFar != nil }
    sent.removeFirst(known.count)
    for (line, write) in known {
      switch write.outcomeSoFar {
      case .committed, .unchanged, .superseded, nil: continue
      case .refused(let refusal): Terminal.complain("line \(line): \(refusal.report(on: model))")
      case .unknown(let why):
        Terminal.complain("line \(line): outcome unknown: \(why)")
        unknown.append(line)
        continue
      case let outcome?: Terminal.complain("line \(line): \(outcome.explanation(of: model))")
      }
      refused.append(line)
    }
  }

  /// The result after the input has ended: `.some(nil)` for success; nil if an end was reported already.
  mutating func end(after timeout: TimeSpan, outbox: String?) -> Failure?? {
    guard !hasEnded else { return nil }
    hasEnded = true
    report()
    let late = sent.map(\.line)
    var words: [String] = []
    if !bad.isEmpty { words.append("Not written: \(PipedLines.words(bad)).") }
    if !refused.isEmpty { words.append("\(refused.count) of \(count) lines were refused.") }
    if !unknown.isEmpty { words.append("Outcome unknown: \(PipedLines.words(unknown)).") }
    if !late.isEmpty {
      words.append("No outcome within \(timeout.milliseconds) ms for \(PipedLines.words(late)). \(fate(outbox))")
    }
    guard !words.isEmpty else { return .some(nil) }
    let code: Failure.Code = !bad.isEmpty ? .doesNotFit : unknown.isEmpty && late.isEmpty ? .conflict : .timedOut
    return Failure(code, words.joined(separator: "\n"))
  }

  /// The result when the hub has permanently ended the session; nil if an end was reported already.
  mutating func end(stopped reason: StopReason, outbox: String?) -> Failure? {
    guard !hasEnded else { return nil }
    hasEnded = true
    // Writes that have an outcome keep it; the rest will not get one.
    let left = sent.filter { $0.write.outcomeSoFar?.isUnknown ?? true }.map(\.line)
    sent.removeAll { $0.write.outcomeSoFar?.isUnknown ?? true }
    report()
    let lines = unknown + left
    if lines.isEmpty { return reason.failure }
    return Failure(
      .timedOut, "\(reason.words)\nOutcome unknown: \(PipedLines.words(lines)). \(fate(outbox))")
  }

  private func fate(_ outbox: String?) -> String {
    outbox.map { "Undecided writes stay in \($0)." } ?? "Sent writes may still be committed."
  }

  /// `line 3`, `lines 3 to 5, 9`, shortened if there are many.
  static func words(_ lines: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for line in lines.sorted() {
      if let last = ranges.last, line <= last.upperBound + 1 {
        ranges[ranges.count - 1] = last.lowerBound...line
      } else {
        ranges.append(line...line)
      }
    }
    let shown = ranges.prefix(10).map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
    let words = (lines.count == 1 ? "line " : "lines ") + shown.joined(separator: ", ")
    return ranges.count > 10 ? "\(words) … (\(lines.count) in all)" : words
  }
}

extension Outcome {
  fileprivate var isUnknown: Bool { if case .unknown = self { true } else { false } }
}
