import ArgumentParser
import BindingPeer
import BindingTerminal
import Dispatch
import Foundation

/// Prints changes as they arrive.
struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print each change as it comes, until interrupted.",
    discussion: """
      --for is how long to watch, and ends it well. --timeout, without --for, is a limit of it all: the hub must \
      have answered by then (69), and the changes that --count asks for must have come (75).
      """)

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
    let limit = span == nil ? common.limit.map { DispatchTime.now() + .milliseconds(Int($0.milliseconds)) } : nil
    let peer = waitsForHub ? try common.makePeer() : try await common.connect(patiently: true)
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
    printer.keep(
      peer.observeStatus { status in
        printer.link(status)
        if status.isStopped { end.finish() }
      })
    let looking = Task { [common] in
      let reader = ModelReader(peer: peer, timeout: common.timeout)
      for address in asked where !ephemeral {
        if let words = await reader.emptiness(of: address) { Terminal.complain("\(words) Waiting all the same.") }
      }
    }
    defer { looking.cancel() }
    if let limit = limit ?? span.map({ .now() + .milliseconds(Int($0.milliseconds)) }) {
      DispatchQueue.global().asyncAfter(deadline: limit) { end.finish() }
    }
    for await _ in ended {}
    if case .stopped(let reason) = peer.status.phase { throw reason.failure }
    if let limit = common.limit, span == nil {
      if peer.status.epoch == nil { throw common.noHub(peer) }
      if let missing = printer.missing, missing > 0 {
        throw Failure(.timedOut, "\(missing) of \(count ?? 0) changes did not come within \(limit.milliseconds) ms.")
      }
    }
    await peer.close(flush: .zero)
  }
}

/// Limits the changes that `watch` prints.
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
