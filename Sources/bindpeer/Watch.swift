import ArgumentParser
import BindingPeer
import BindingTerminal
import Dispatch
import Foundation

/// Prints changes as they arrive.
struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print each change as it arrives, until interrupted.",
    discussion: """
      --for ends the watch after a time, with exit code 0. --timeout, without --for, limits the whole watch: it ends \
      with 69 if the hub has not answered by then, and with 75 if fewer changes than --count have arrived.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL, MODEL.FIELD or PREFIX/. Default: all models.")
  var addresses: [String] = [""]
  @Option(help: "End after this number of changes; initial values do not count.")
  var count: Int?
  @Option(name: .customLong("for"), help: "End after this time.")
  var span: TimeSpan?
  @Flag(help: "Watch ephemeral fields, which exist as long as the peer that wrote them.")
  var ephemeral = false
  @Flag(name: .customLong("wait-for-hub"), help: "Wait for a hub instead of failing if none answers.")
  var waitsForHub = false
  @Option(help: "Print the commits from this version on first, and then each change as it arrives. For one model.")
  var from: UInt64?
  @OptionGroup var pacing: WatchPace

  mutating func run() async throws {
    let asked = try addresses.map { text throws(Failure) in try Address(text) }
    let pace = try pacing.pace()
    if from != nil {
      guard asked.count == 1, !asked[0].isPrefix, !ephemeral, pace == nil else {
        throw Failure(.usage, "--from needs one model or field, and no --ephemeral, --every or --deadband")
      }
    }
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
        if from != nil { printer.hold(model.id) }
        printer.follow(ephemeral ? model.ephemeral : model, field: address.wireField, fromNow: false)
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
        if let words = await reader.emptiness(of: address) { Terminal.complain("\(words) Waiting anyway.") }
      }
    }
    defer { looking.cancel() }
    let past = try from.map { version in
      Task { [common, model = try peer.model(asked[0].model), address = asked[0]] in
        await PastOfWatch(printer: printer, peer: peer, model: model, common: common).show(from: version, of: address)
      }
    }
    defer { past?.cancel() }
    if let past {
      Task { if await past.value != nil { end.finish() } }
    }
    if let limit = limit ?? span.map({ .now() + .milliseconds(Int($0.milliseconds)) }) {
      DispatchQueue.global().asyncAfter(deadline: limit) { end.finish() }
    }
    for await _ in ended {}
    past?.cancel()
    if let failure = await past?.value ?? nil { throw failure }
    if case .stopped(let reason) = peer.status.phase { throw reason.failure }
    if let limit = common.limit, span == nil {
      if peer.status.epoch == nil { throw common.noHub(peer) }
      if let missing = printer.missing, missing > 0 {
        throw Failure(.timedOut, "\(missing) of \(count ?? 0) changes did not arrive within \(limit.milliseconds) ms.")
      }
    }
    await peer.close(flush: .zero)
  }
}

/// Limits the changes that `watch` prints.
struct WatchPace: ParsableArguments {
  @Option(
    help: "Print at most one line per model in this time, such as 100ms or 2s, with the number of coalesced commits.")
  var every: String?
  @Option(help: "Omit numbers that differ by less than this from the last printed value of their field.")
  var deadband: String?
  @Flag(
    name: .customLong("all-changes"), help: "Print each commit; the default without --every and --deadband.")
  var isEveryCommit = false

  /// Nil: every commit.
  func pace() throws(Failure) -> Pace<ModelChange>? {
    if every == nil, deadband == nil { return nil }
    if isEveryCommit {
      throw Failure(.usage, "--all-changes prints every commit. Omit \(every == nil ? "--deadband" : "--every")")
    }
    var interval = TimeSpan(seconds: 0)
    if let every {
      guard let span = TimeSpan(argument: every) else {
        throw Failure(.usage, "--every must be a duration such as 100ms, 2s or 1m, not \(every)")
      }
      interval = span
    }
    guard let deadband else { return .latest(every: interval.duration) }
    guard let width = Double(deadband), width >= 0, width.isFinite else {
      throw Failure(.usage, "--deadband must be a number of at least 0, such as 0.1, not \(deadband)")
    }
    return .latest(every: interval.duration, deadband: width)
  }
}
