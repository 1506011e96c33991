import ArgumentParser
import BindingProtocol
import Foundation
import ZeroMQ

/// Subscribers of one topic, each with its own socket, on one thread.
struct Subscribe: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "subscribe", shouldDisplay: false)
  @Option var to: String
  @Option var count = 1
  /// The first bytes of the wanted messages.
  @Option(parsing: .unconditional) var topic: String
  @Option var kind: String
  /// Reports the delays of N messages; 0: reports how many changes arrived in what time.
  @Option var samples = 0

  func run() throws {
    let context = try Context()
    let prefix = topic.split(separator: ",").compactMap { UInt8($0) }
    let sockets = try Sockets(count, to: to, prefix, in: context)
    report("ready")
    if samples > 0 { try reportDelays(sockets) } else { try reportRate(sockets) }
  }

  private func reportDelays(_ sockets: Sockets) throws {
    var delays: [UInt64] = []
    while delays.count < samples {
      try sockets.drain(timeoutMilliseconds: -1) { _, frame in
        guard changes(frame) > 0 else { return }
        delays.append(now() - Frames.timeAtEnd(frame))
      }
    }
    report(try Delays(of: delays).line)
  }

  /// Counts until a silence; the result is that of the subscriber that got least.
  private func reportRate(_ sockets: Sockets) throws {
    var counts = [Int](repeating: 0, count: count)
    var first: UInt64 = 0
    var last: UInt64 = 0
    while true {
      let came = try sockets.drain(timeoutMilliseconds: 400) { index, frame in
        let changes = changes(frame)
        counts[index] += changes
        guard changes > 0 else { return }
        last = now()
        if first == 0 { first = last }
      }
      if !came, first > 0 { break }
    }
    report("\(Double(counts.min() ?? 0) / (Double(last - first) / 1e9)) \(counts.min() ?? 0)")
  }

  private func changes(_ frame: UnsafeRawBufferPointer) -> Int {
    kind == Contender.hub.rawValue ? Frames.changes(inCommits: frame) : Frames.changes(inProposal: frame)
  }
}

extension Delays {
  init(of nanoseconds: [UInt64]) {
    let sorted = nanoseconds.sorted()
    let at = { (share: Double) in Double(sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]) / 1_000 }
    self.init(p50: at(0.5), p99: at(0.99))
  }

  var line: String {
    get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
  }

  init(line: String) throws { self = try JSONDecoder().decode(Delays.self, from: Data(line.utf8)) }
}
