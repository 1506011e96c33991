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

  mutating func run() async throws {
    let asked = try addresses.map { text throws(Failure) in try Address(text) }
    let peer = waitsForHub ? try common.makePeer() : try await common.connect()
    let (ended, end) = AsyncStream<Void>.makeStream()
    let ephemeral = ephemeral
    let printer = WatchPrinter(json: common.json, count: count) { end.finish() }
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

  init(json: Bool, count: Int?, end: @escaping @Sendable () -> Void) {
    self.json = json
    left = count
    self.end = end
  }

  func keep(_ thing: any Sendable) {
    lock.lock()
    kept.append(thing)
    lock.unlock()
  }

  func follow(_ model: SharedModel, field: String?, fromNow: Bool) {
    let token = model.observe { [weak self] reveal, missed in self?.print(reveal, missed: missed, of: field) }
    keep(token)
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
    case .commits, .detached, .outcome, .local:
      for commit in reveal.commits { show(commit, reveal, of: field) }
    }
  }

  private func show(_ commit: CommitInfo, _ reveal: Reveal, of field: String?) {
    let changes = commit.changes.filter { (field == nil || $0.field == field) && !$0.field.hasPrefix("@") }
    guard !changes.isEmpty, left != 0 else { return }
    let origin = "\(commit.origin.name)-\(commit.origin.tag.short)"
    if json {
      Terminal.say(
        .object([
          .init("model", .string(reveal.model)), .init("epoch", .string(String(reveal.epoch, radix: 16))),
          .init("version", .integer(Int64(clamping: commit.version))), .init("origin", .string(origin)),
          .init("time", .integer(Int64(clamping: commit.time))),
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
        "\(Terminal.clock(commit.time))  \(reveal.model)  \(commit.version)  \(words.joined(separator: "  "))        "
          + Terminal.dim(origin))
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
