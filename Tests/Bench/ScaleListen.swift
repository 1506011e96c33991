import ArgumentParser
import BindingProtocol
import Foundation
import ZeroMQ

/// Readers of the same topics, each with one connection for each thousand topics, which is what a hub allows. For
/// each line that it reads it counts until nothing more arrives.
struct ScaleListen: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "listen", shouldDisplay: false)
  @Option var kind = "hub"
  @Option var to: String
  @Option var topics: String
  @Option var readers = 1

  private static let topicsOfConnection = 1_000
  /// Heads continue for some heartbeats after the last change.
  private static let silence: UInt64 = 500_000_000

  func run() throws {
    let all = topics.split(separator: ",").compactMap { Topic($0) }
    let context = try Context(maximumSockets: readers * (all.count / Self.topicsOfConnection + 1) + 16)
    var boxes: [(reader: Int, socket: SocketBox)] = []
    for reader in 0..<readers {
      for first in stride(from: 0, to: all.count, by: Self.topicsOfConnection) {
        let socket = try Socket(.sub, in: context)
        try socket.set([.receiveHighWaterMark(messages: 0)])
        for topic in all[first...].prefix(Self.topicsOfConnection) { try socket.subscribe(Topics.bytes(topic)) }
        try socket.connect(to)
        boxes.append((reader, SocketBox(socket)))
      }
    }
    // Subscriptions take effect only once their connection is established.
    usleep(500_000)
    report("ready")
    while readLine() != nil { report(try count(boxes)) }
  }

  private func count(_ boxes: [(reader: Int, socket: SocketBox)]) throws -> String {
    var message = Message()
    var poller = Poller()
    let slots = boxes.map { poller.add($0.socket.socket) }
    var changes = [Int](repeating: 0, count: readers)
    var (first, last): (UInt64, UInt64) = (0, 0)
    while first == 0 || now() < last + Self.silence {
      guard try poller.wait(timeoutMilliseconds: 100) > 0 else { continue }
      for (index, box) in boxes.enumerated() where poller.isReadable(slots[index]) {
        for _ in 0..<1_000 {
          guard try box.socket.socket.receive(into: &message) else { break }
          let came = message.withBytes { kind == Contender.hub.rawValue ? Frames.changes(inCommits: $0) : 1 }
          guard came > 0 else { continue }
          changes[box.reader] += came
          last = now()
          if first == 0 { first = last }
        }
      }
    }
    let least = changes.min() ?? 0
    let rate = last > first ? Double(least) / (Double(last - first) / 1e9) : 0
    return "{\"least\":\(least),\"rate\":\(rate)}"
  }
}
