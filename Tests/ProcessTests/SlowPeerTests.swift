import BindingProtocol
import Foundation
import Testing

/// Peers that do not read while others write much. They cost other peers nothing and the hub a bounded amount of
/// memory, and end equal to the hub, with the number of commits that they missed.
@Suite("Slow peers", .serialized)
struct SlowPeerTests {
  private static let commits = 100_000
  private let bench: Bench
  private let hub: RunningProcess
  private let writer: RawPeer

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    writer = try RawPeer(bench.hub)
    try writer.hello()
    try writer.join("lamp")
  }

  /// Commits `commits` sets of one field, several in each frame; each value ends with its number.
  /// - Parameter underWay: so many at most are not decided. The hub commits together what waits.
  private func write(padding: Int, underWay: Int = 200, eachFrame: () throws -> Void = {}) throws {
    let inFrame = 20
    let text = String(repeating: "x", count: padding)
    var (sent, decided) = (0, 0)
    while decided < SlowPeerTests.commits {
      while sent < SlowPeerTests.commits, sent - decided + inFrame <= underWay {
        let proposals = (1...inFrame).map { index in
          var proposal = writer.proposal(ProposalNumber(sent + index), "x", "\"\(text)\(sent + index)\"")
          proposal.confirmed = ProposalNumber(decided)
          return proposal
        }
        try writer.send(.propose(proposals))
        sent += inFrame
        try eachFrame()
      }
      decided += try writer.next { _, message -> Int? in
        guard case .outcomes(let outcomes) = message else { return nil }
        return outcomes.outcomes.reduce(0) {
          guard case .committed(let count, _) = $1.rest else { return $0 }
          return $0 + Int(count)
        }
      }
    }
  }

  /// The hub's peak memory in MiB; nil where the system does not report it.
  private var peakMemory: Int? {
    let status = try? String(contentsOfFile: "/proc/\(hub.pid)/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 / 1_024 }
  }

  private func member(_ name: String, of line: String) -> Int? {
    ((try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any])?[name] as? Int
  }

  @Test("a watcher stopped during 100,000 commits ends at the last, and its `folded` counts add up")
  func stoppedWatcher() throws {
    try bench.run("set", "lamp.on=true")
    let watcher = try bench.start("watch", "lamp", "--json", "--every", "50ms", "--timeout", "30s")
    let beginning = try #require(watcher.line { $0.contains("\"version\"") })
    watcher.send(SIGSTOP)
    let before = peakMemory
    try write(padding: 40)
    watcher.send(SIGCONT)
    let last = try #require(watcher.line { $0.contains("\(SlowPeerTests.commits)\"") }, "\(watcher.output.suffix(3))")
    let first = try #require(member("version", of: beginning))
    let version = try #require(member("version", of: last))
    let lines = watcher.output.filter { $0.contains("\"version\"") }.dropFirst()
    #expect(lines.reduce(0) { $0 + 1 + (member("folded", of: $1) ?? 0) } == version - first)
    #expect(lines.compactMap { member("folded", of: $0) }.contains { $0 > 1_000 })
    if let before, let peak = peakMemory { #expect(peak - before < 64) }
  }

  @Test("a session that does not read its request connection is left out, then catches up with one delta")
  func slowSession() throws {
    let slow = try RawPeer(bench.hub)
    try slow.hello()
    try slow.join("lamp", subscribes: false)
    let before = peakMemory
    var frames = 0
    // Each frame is a message of its own, however busy the machine is: so many that libzmq's queues are full.
    try write(padding: 100, underWay: 20) {
      frames += 1
      // It is alive but does not read the answers.
      if frames.isMultiple(of: 100) { try slow.send(.ping(Ping(token: UInt64(frames)))) }
    }
    #expect(try bench.counter("behindConnections", of: "gate") >= 1)
    #expect(try bench.counter("slowConnections", of: "gate") == 0)
    #expect(try bench.counter("leftOut") > 0)
    if let before, let peak = peakMemory { #expect(peak - before < 64) }
    // Now it reads: the queued commits in order, then the head.
    var (version, epoch) = (Version(0), Epoch(0))
    let head = try slow.next { _, message -> Head? in
      switch message {
      case .commits(let group):
        #expect(group.previous == version)
        version = group.previous + Version(group.commits.count)
        epoch = group.epoch
      case .head(let head) where head.version > version: return head
      default: break
      }
      return nil
    }
    #expect(head.version == Version(SlowPeerTests.commits))
    #expect(version < head.version)
    try slow.send(.join([Join(request: 2, model: "lamp", epoch: epoch, version: version, namesKnown: 1)]))
    let delta = try slow.next { if case .catchup(let chunk) = $1 { chunk } else { nil } }
    #expect(delta.form == .delta && delta.previous == version && delta.version == head.version && delta.isLast)
    #expect(delta.entries.map { "\($0.value?.description ?? "")".hasSuffix("x\(SlowPeerTests.commits)\"") } == [true])
    #expect(try bench.counter("foldedCommits") == Int(head.version - version))
  }
}
