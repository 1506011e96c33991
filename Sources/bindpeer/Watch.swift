import ArgumentParser
import BindingPeer
import Dispatch
import Foundation

/// Prints changes as they come.
struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Print each change as it comes, until interrupted.")

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL, MODEL.FIELD or PREFIX/; without any, everything.")
  var addresses: [String] = [""]
  @Option(help: "End after so many changes; what is there at the beginning is none.")
  var count: Int?
  @Option(name: .customLong("for"), help: "End after this time.")
  var span: TimeSpan?
  @Flag(help: "Watch ephemeral fields: what goes with the peer that wrote it.")
  var ephemeral = false
  @Flag(name: .customLong("wait-for-hub"), help: "Wait for a hub instead of giving up when there is none.")
  var waitsForHub = false
  @OptionGroup var pacing: WatchPace

  mutating func run() async throws {
    let asked = try addresses.map { text throws(Failure) in try Address(text) }
    let pace = try pacing.pace()
    let peer = waitsForHub ? try common.makePeer() : try await common.connect()
    let (ended, end) = AsyncStream<Void>.makeStream()
    let ephemeral = ephemeral
    let printer = WatchPrinter(json: common.json, count: count, pace: pace) { end.finish() }
    for address in asked {
      if address.isPrefix {
        printer.keep(
          try peer.models(under: address.model) { id in
            guard let model = try? peer.model(id) else { return }
            printer.follow(ephemeral ? model.ephemeral : model, field: nil, fromNow: false)
          })
      } else {
        let model = try peer.model(address.model)
        printer.follow(ephemeral ? model.ephemeral : model, field: address.field, fromNow: false)
      }
    }
    printer.keep(peer.observeStatus { status in printer.link(status) })
    if let span {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(span.milliseconds))) { end.finish() }
    }
    for await _ in ended {}
    await peer.close(flush: .zero)
  }
}

/// How much of what comes `watch` prints.
struct WatchPace: ParsableArguments {
  @Option(help: "At most one line a model in this time, as 100ms or 2s, which says how many commits it folds.")
  var every: String?
  @Option(help: "Leave out numbers that differ by less from what was printed of their field before.")
  var deadband: String?
  @Flag(
    name: .customLong("all-changes"), help: "A line for each commit, as without --every and --deadband.")
  var isEveryCommit = false

  /// Nil: every commit.
  func pace() throws(Failure) -> Pace<ModelChange>? {
    if every == nil, deadband == nil { return nil }
    if isEveryCommit {
      throw Failure(.usage, "--all-changes prints every commit: leave out \(every == nil ? "--deadband" : "--every")")
    }
    var interval = TimeSpan(seconds: 0)
    if let every {
      guard let span = TimeSpan(argument: every) else {
        throw Failure(.usage, "--every \(every) is no span of time: write 100ms, 2s or 1m")
      }
      interval = span
    }
    guard let deadband else { return .latest(every: interval.duration) }
    guard let width = Double(deadband), width >= 0, width.isFinite else {
      throw Failure(.usage, "--deadband \(deadband) is no width: write a number from 0 up, as 0.1")
    }
    return .latest(every: interval.duration, deadband: width)
  }
}

/// What `watch` prints, in the order in which it comes, by whatever thread.
final class WatchPrinter: @unchecked Sendable {  // SAFETY: all that changes is touched only while `lock` is held
  private let lock = NSLock()
  private let json: Bool
  private var left: Int?
  private let end: @Sendable () -> Void
  private var kept: [any Sendable] = []
  private var isDown = false
  /// Models whose beginning was shown.
  private var begun: Swift.Set<String> = []
  private let pace: Pace<ModelChange>?
  /// Where each model was when its last commit, or what was caught up with, was here.
  private var reached: [String: (epoch: Epoch, version: Version)] = [:]
  /// Commits of each model in changes of which nothing was to be printed.
  private var unprinted: [String: Int] = [:]

  init(json: Bool, count: Int?, pace: Pace<ModelChange>? = nil, end: @escaping @Sendable () -> Void) {
    self.json = json
    self.pace = pace
    left = count
    self.end = end
  }

  func keep(_ thing: any Sendable) {
    lock.lock()
    kept.append(thing)
    lock.unlock()
  }

  func follow(_ model: SharedModel, field: String?, fromNow: Bool) {
    if let pace {
      keep(model.observe(pace) { [weak self, id = model.id] change in self?.print(change, of: id, field) })
    } else {
      keep(model.observe { [weak self] reveal, missed in self?.print(reveal, missed: missed, of: field) })
    }
    keep(model)
  }

  func link(_ status: PeerStatus) {
    if case .stopped = status.phase { return }
    lock.lock()
    defer { lock.unlock() }
    if status.isLive, isDown {
      isDown = false
      Terminal.complain("! the hub is back")
    } else if !status.isLive, !isDown, status.epoch != nil {
      isDown = true
      Terminal.complain("! the hub does not answer; waiting")
    }
  }

  private func print(_ reveal: Reveal, missed: UInt64, of field: String?) {
    lock.lock()
    defer { lock.unlock() }
    guard left != 0 else { return }
    if missed > 0 { Terminal.complain("! \(missed) changes of \(reveal.model) came faster than they could be printed") }
    let isBeginning = begun.insert(reveal.model).inserted
    switch reveal.cause {
    case .snapshot, .delta:
      // Commits that came with it are in the values that are told already.
      if caughtUp(reveal, of: field), !isBeginning { countDown() }
      reached[reveal.model] = (reveal.epoch, reveal.version)
    case .commits, .detached, .outcome, .local:
      for commit in reveal.commits {
        show(commit, reveal, of: field, folded: folded(before: commit.version, reveal))
        reached[reveal.model] = (reveal.epoch, commit.version)
      }
    }
  }

  /// Commits just before a version that never came here one by one.
  private func folded(before version: Version, _ reveal: Reveal) -> Int {
    guard let last = reached[reveal.model], last.epoch == reveal.epoch, last.version > 0 else { return 0 }
    return Int(clamping: version - min(version, last.version + 1))
  }

  private func print(_ change: ModelChange, of model: String, _ field: String?) {
    lock.lock()
    defer { lock.unlock() }
    guard left != 0 else { return }
    let news = change.fields.filter { (field == nil || $0.key == field) && !$0.key.hasPrefix("@") }
    let commits = change.folded + 1 + unprinted[model, default: 0]
    guard !news.isEmpty else {
      unprinted[model] = change.isBeginning ? 0 : commits
      return
    }
    unprinted[model] = 0
    let sorted = news.sorted { $0.key < $1.key }
    if json {
      Terminal.say(
        .object([
          .init("model", .string(model)), .init("epoch", .string(String(change.epoch, radix: 16))),
          .init("version", .integer(Int64(clamping: change.version))),
          .init("folded", .integer(Int64(commits - 1))),
          .init("changes", .object(sorted.map { .init($0.key, (try? $0.value?.json) ?? .null) })),
        ]))
    } else {
      let words = sorted.map { "\($0.key) → \($0.value.map { Terminal.readable($0) } ?? "deleted")" }
      Terminal.say(
        "\(Terminal.clock(UInt64(Date().timeIntervalSince1970 * 1_000)))  \(model)  \(change.version)  "
          + words.joined(separator: "  ") + Terminal.folded(commits - 1))
    }
    if !change.isBeginning { countDown() }
  }

  private func show(_ commit: CommitInfo, _ reveal: Reveal, of field: String?, folded: Int) {
    let changes = commit.changes.filter { (field == nil || $0.field == field) && !$0.field.hasPrefix("@") }
    guard !changes.isEmpty, left != 0 else { return }
    let origin = commit.origin.fullName
    if json {
      Terminal.say(
        .object([
          .init("model", .string(reveal.model)), .init("epoch", .string(String(reveal.epoch, radix: 16))),
          .init("version", .integer(Int64(clamping: commit.version))), .init("origin", .string(origin)),
          .init("time", .integer(Int64(clamping: commit.time))), .init("folded", .integer(Int64(folded))),
          .init("changes", .object(changes.map { .init($0.field, (try? $0.value?.json) ?? .null) })),
        ]))
    } else {
      let words = changes.map { change in
        let old =
          reveal.commits.count == 1
          ? reveal.changes.first { $0.field == change.field }?.old.map { "\(Terminal.readable($0)) " } ?? "" : ""
        return "\(change.field) \(old)→ \(change.value.map { Terminal.readable($0) } ?? "deleted")"
      }
      Terminal.say(
        "\(Terminal.clock(commit.time))  \(reveal.model)  \(commit.version)  \(words.joined(separator: "  "))"
          + Terminal.folded(folded) + "        " + Terminal.dim(origin))
    }
    countDown()
  }

  /// What was caught up with is told as it stands now: single commits of the time between are folded.
  /// - Returns: whether anything had changed.
  private func caughtUp(_ reveal: Reveal, of field: String?) -> Bool {
    let changes = reveal.changes.filter { (field == nil || $0.field == field) && !$0.field.hasPrefix("@") }
    let form = if case .delta = reveal.cause { "delta" } else { "snapshot" }
    if json {
      Terminal.say(
        .object([
          .init("model", .string(reveal.model)), .init("epoch", .string(String(reveal.epoch, radix: 16))),
          .init("version", .integer(Int64(clamping: reveal.version))), .init("caughtUp", .string(form)),
          .init("folded", .integer(Int64(clamping: reveal.folded))),
          .init("changes", .object(changes.map { .init($0.field, (try? $0.new?.json) ?? .null) })),
        ]))
    } else {
      let words = changes.map { "\($0.field) \($0.new.map { Terminal.readable($0) } ?? "deleted")" }
      Terminal.say(
        "\(Terminal.clock(UInt64(Date().timeIntervalSince1970 * 1_000)))  \(reveal.model)  \(reveal.version)  "
          + words.joined(separator: "  ") + Terminal.dim("        by \(form)"))
    }
    return !changes.isEmpty
  }

  private func countDown() {
    guard let count = left else { return }
    left = count - 1
    if count == 1 { end() }
  }
}
