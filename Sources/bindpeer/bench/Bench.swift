import ArgumentParser
import BindingPeer
import BindingTerminal

/// Measures how a hub handles writes at a fixed rate.
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure the latency of writes at a fixed rate: seen locally, committed, seen by another peer.",
    discussion: """
      Profiles:
      \(BenchProfile.allCases.map(lines).joined(separator: "\n"))

      One peer writes and the others watch, all in this process, each with its own connection to the hub. They share \
      a model under bench/ with a random name, which is deleted at the end and after Ctrl-C.

      A latency counts from the time at which the write was due, even if it was made later. begun late: the write \
      begins; a busy machine or earlier writes delay it. seen locally: the call has returned and the writer's \
      observer has run. committed: the outcome has arrived. seen by another: the observer of a watching peer has \
      run. If a later value of the field has replaced the value, the later one counts; coalesced is the number of \
      such values. In the profile offline, committed and seen count from the restart of the peer.

      --check prints good, slow or broken, and exits with 0, 1 or 1. broken: a write was not committed within \
      --timeout or not seen, or a last value differs. slow: the rate was not reached, or 1 of 100 writes took longer \
      to be committed or seen than the limit of the profile.
      """)

  private static func lines(_ profile: BenchProfile) -> String {
    let usual = "\(Int(profile.rate)) writes per second, \(profile.peers) watching, limit \(Int(profile.limit)) ms"
    return "  \(profile.rawValue): \(profile.explanation); \(usual)"
  }

  @OptionGroup var common: CommonOptions
  @Option(help: "Workload: slider, fan-out, burst or offline.")
  var profile = BenchProfile.slider
  @Option(help: "Writes per second. Default: the rate of the profile.")
  var rate: Double?
  @Option(name: .customLong("for"), help: "Duration of the writing, such as 500ms, 10s or 1m.")
  var span = TimeSpan(seconds: 10)
  @Option(help: "Watching peers, at most \(BenchPlan.mostPeers). Default: the number of the profile.")
  var peers: Int?
  @Flag(help: "Print good, slow or broken, and exit with 1 unless good.")
  var check = false

  mutating func run() async throws {
    if common.outbox != nil { throw Failure(.usage, "bench uses no outbox. Omit --outbox") }
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
