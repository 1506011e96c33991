import ArgumentParser
import BindingProtocol
import Foundation
import ZeroMQ

/// The subscribers in comparisons, with the figures of the C clients in `Contenders`.
struct Listen: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "listen", shouldDisplay: false)
  @Option var kind: String
  @Option var to: String
  /// The first bytes of the wanted messages.
  @Option(parsing: .unconditional) var topic: String
  @Option var count = 1
  /// The pace of the writer, changes a second; 0: no delays are reported.
  @Option var rate = 0.0
  @OptionGroup var keys: BenchKeys

  /// After so long a silence, waiting subscribers have missed the last change; nanoseconds.
  private static let silence: UInt64 = 3_000_000_000
  private static let timeout: UInt64 = 60_000_000_000

  func run() throws {
    let context = try Context()
    let prefix = topic.split(separator: ",").compactMap { UInt8($0) }
    let sockets = try Sockets(count, to: to, prefix, keys.client(), in: context)
    // A subscription takes effect only once its connection is established.
    usleep(400_000)
    report("ready")
    var seen = (0..<count).map { _ in Seen(isTimed: rate > 0) }
    try Self.wait(
      for: { Arrivals(seen) },
      listen: {
        try sockets.drain(timeoutMilliseconds: 100) { index, frame in
          if kind == Contender.hub.rawValue {
            Frames.values(inCommits: frame) { seen[index].record($0) }
          } else {
            Frames.values(inProposal: frame) { seen[index].record($0) }
          }
        }
      })
    report(Self.figures(of: seen))
  }

  /// Listens until all subscribers have the last change, or until a long silence.
  static func wait(for arrivals: () -> Arrivals, listen: () throws -> Void) rethrows {
    let begun = now()
    while case let so = arrivals(), !so.areAll {
      if so.latest > 0 ? now() > so.latest + silence : now() > begun + timeout { break }
      try listen()
    }
  }

  static func figures(of seen: [Seen]) -> String {
    guard let least = seen.min(by: { $0.count < $1.count }) else { return "{}" }
    let expected = seen.map(\.expected).max() ?? 0
    let rate = least.last > least.first ? Double(least.countAtLast - 1) / (Double(least.last - least.first) / 1e9) : 0
    var line = "{\"least\":\(least.count),\"expected\":\(expected),\"rate\":\(rate)"
    let delays = seen.flatMap(\.delays).sorted()
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]
    where !delays.isEmpty {
      let index = min(Int(share * Double(delays.count)), delays.count - 1)
      line += ",\"\(name)\":\(Double(delays[index]) / 1e3)"
    }
    return line + (delays.isEmpty ? "" : ",\"samples\":\(delays.count)") + "}"
  }
}

/// The progress of all subscribers, without what they have seen: holding that while they listen would copy all
/// delays before each addition.
struct Arrivals {
  let areAll: Bool
  /// When the last change arrived.
  let latest: UInt64

  init(_ seen: [Seen]) {
    areAll = seen.allSatisfy { $0.expected > 0 }
    latest = seen.map(\.last).max() ?? 0
  }
}

/// What one subscriber has seen.
struct Seen {
  private static let clocked = 16
  let isTimed: Bool
  private(set) var count = 0
  private(set) var first: UInt64 = 0
  /// When the last timed change arrived, and how many had arrived then.
  private(set) var last: UInt64 = 0
  private(set) var countAtLast = 0
  /// The number of the last change, which is their count. 0 until it arrives.
  private(set) var expected: UInt64 = 0
  /// Nanoseconds.
  private(set) var delays: [UInt32] = []

  init(isTimed: Bool) { self.isTimed = isTimed }

  mutating func record(_ value: UnsafeRawBufferPointer, withoutQuotes: Bool = false) {
    let missing = withoutQuotes ? 1 : 0
    guard value.count + 2 * missing >= Stamp.leastBytes else { return }
    count += 1
    // The last change is outside the pace and not measured.
    if Stamp.isLast(value, from: missing) {
      expected = Stamp.digits(value, Stamp.numberRange, from: missing)
      return
    }
    // Where only the count matters, the clock is read for one change in 16, so as not to measure the clock.
    guard isTimed || count % Self.clocked == 1 else { return }
    last = now()
    if first == 0 { first = last }
    countAtLast = count
    guard isTimed else { return }
    let written = Stamp.digits(value, Stamp.timeRange, from: missing)
    delays.append(UInt32(clamping: last > written ? last - written : 0))
  }
}

extension Frames {
  /// Every value in a `commits`; none in another message about the model.
  static func values(inCommits frame: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    guard frame.count > HubHeader.byteCount, frame[4] == HubMessageKind.commits.rawValue,
      var commits = try? CommitCursor(
        WireReader(UnsafeRawBufferPointer(rebasing: frame.dropFirst(HubHeader.byteCount))))
    else { return }
    while (try? commits.next()) == true {
      var changes = commits.changes
      while (try? changes.next()) == true { if let value = changes.value { body(value) } }
    }
  }

  /// Every value in a `propose` as `proposals` makes it: all of one size, after a head of 15 bytes.
  static func values(inProposal frame: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    let (head, count) = (15, changes(inProposal: frame))
    guard count > 0, (frame.count - head) % count == 0 else { return }
    let size = (frame.count - head) / count
    // Before the value: topic, number, confirmed, four empty parts, one operation's count, verb, field and length.
    let before = 27
    guard size > before else { return }
    for index in 0..<count {
      let end = head + (index + 1) * size
      body(UnsafeRawBufferPointer(rebasing: frame[end - size + before..<end]))
    }
  }
}
