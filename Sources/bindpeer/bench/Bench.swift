import ArgumentParser
import BindingPeer

/// Measures how a hub handles writes at a fixed rate.
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure how soon writes at a fixed rate are seen here, committed, and seen by another peer.",
    discussion: """
      Profiles:
      \(BenchProfile.allCases.map(lines).joined(separator: "\n"))

      A peer of its own writes, others watch, all in this process, each with its own connection to the hub. They \
      share a model below bench/ with a name of chance, which is deleted at the end and after Ctrl-C.

      A write's time counts from the moment at which it was due, whether or not it could be made then. begun late: \
      until the writer came to it, which a busy machine and the writes before it delay. seen locally: it has \
      returned and the writer's observer has run. committed: the hub's outcome is told. seen by another: the \
      observer of a watching peer has run. Where a later value of the same field came in its place, that one counts, \
      and folded counts them. With offline, committed and seen count from the moment at which the peer is started \
      again.

      --check says good, slow or broken, and ends with 0, 1 or 1. broken: a write was not committed within \
      --timeout, or not seen, or the last value differs. slow: the rate was not kept, or 1 of 100 writes took longer \
      until it was committed or seen than the profile allows (limit).
      """)

  private static func lines(_ profile: BenchProfile) -> String {
    let usual = "\(Int(profile.rate)) writes a second, \(profile.peers) watching, limit \(Int(profile.limit)) ms"
    return "  \(profile.rawValue): \(profile.explanation); \(usual)"
  }

  @OptionGroup var common: CommonOptions
  @Option(help: "slider, fan-out, burst or offline.")
  var profile = BenchProfile.slider
  @Option(help: "Writes a second; without it what the profile says.")
  var rate: Double?
  @Option(name: .customLong("for"), help: "How long to write, as 500ms, 10s or 1m.")
  var span = TimeSpan(seconds: 10)
  @Option(help: "Peers that watch, up to \(BenchPlan.mostPeers); without it what the profile says.")
  var peers: Int?
  @Flag(help: "Say good, slow or broken, and end with 1 unless it is good.")
  var check = false

  mutating func run() async throws {
    if common.outbox != nil { throw Failure(.usage, "bench keeps nothing: leave out --outbox") }
    let plan = try BenchPlan(profile, rate: rate, peers: peers, span: span)
    let result = try await BenchRun(plan, common).measured()
    if common.json {
      Terminal.print(result.json(isChecked: check))
    } else {
      for line in result.words(isChecked: check) { Terminal.print(line) }
    }
    if let remark = result.remark { Terminal.complain(remark) }
    if check {
      if result.verdict.0 != .good { Terminal.leave(.no) }
    } else if let fault = result.fault {
      throw Failure(.timedOut, "Within \(common.timeout.milliseconds) ms after the last write: \(fault).")
    }
  }
}
