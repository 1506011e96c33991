import ArgumentParser
import BindingProtocol
import Foundation
import ZeroMQ

/// Many peers in one process, each with two connections and a session, all in one model. They act like peers: they
/// answer each heartbeat and receive every commit. On request they all lose their connections and return.
struct ScaleCrowd: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "crowd", shouldDisplay: false)
  @Option var request: String
  @Option var peers = 1
  @Option var model = "scale/m0"

  func run() throws {
    // Twice the open sockets: closed sockets are freed a moment later.
    let context = try Context(maximumSockets: min(4 * peers + 64, 65_535))
    let address = try HubAddress(request)
    let crowd = ScalePeers(try (0..<peers).map { _ in try ScalePeer(of: model, at: address, request, in: context) })
    report("here")
    while true {
      var command: String?
      while command == nil {
        try crowd.attend(milliseconds: 100)
        command = try Self.word()
      }
      switch command {
      case "join", "again": report("{\"seconds\":\(try crowd.joinAll())}")
      case "count":
        report("{\"least\":\(crowd.least),\"most\":\(crowd.most)}")
        crowd.forgetCounts()
      default: return
      }
    }
  }

  /// The next line from the parent process, if there is one; "" at its end.
  private static func word() throws -> String? {
    var item = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    guard poll(&item, 1, 0) > 0 else { return nil }
    return readLine() ?? ""
  }
}

/// All peers of a process, on one thread.
private final class ScalePeers {
  private let peers: [ScalePeer]
  private var message = Message()

  init(_ peers: [ScalePeer]) { self.peers = peers }

  var least: Int { peers.map(\.changes).min() ?? 0 }
  var most: Int { peers.map(\.changes).max() ?? 0 }

  func forgetCounts() { for peer in peers { peer.changes = 0 } }

  /// Reopens all connections and returns when the last peer has the whole model.
  /// - Returns: seconds.
  func joinAll() throws -> Double {
    for peer in peers { peer.close() }
    let begun = now()
    for peer in peers { try peer.open() }
    while peers.contains(where: { !$0.isCurrent }) {
      guard now() < begun + 60_000_000_000 else {
        throw ScaleTrouble("\(peers.count { !$0.isCurrent }) of \(peers.count) peers have not joined in 60 s")
      }
      try attend(milliseconds: 10)
      // A connection lost on the way stays lost; a peer opens another one, too.
      for peer in peers where !peer.isCurrent && now() > peer.openedAt + 5_000_000_000 {
        peer.close()
        try peer.open()
      }
    }
    return Double(now() - begun) / 1e9
  }

  /// Receives what has arrived.
  func attend(milliseconds: Int) throws {
    let open = peers.filter(\.isOpen)
    guard !open.isEmpty else {
      usleep(UInt32(milliseconds) * 1_000)
      return
    }
    let end = now() + UInt64(milliseconds) * 1_000_000
    var poller = Poller()
    let slots = open.map { ($0, $0.add(to: &poller)) }
    repeat {
      guard try poller.wait(timeoutMilliseconds: milliseconds) > 0 else { return }
      for (peer, (request, subscription)) in slots {
        if poller.isReadable(request) { try peer.receiveAnswers(into: &message) }
        if let subscription, poller.isReadable(subscription) { try peer.receivePublished(into: &message) }
      }
      // A peer welcomed meanwhile has another socket.
    } while now() < end && !slots.contains { $0.1.1 == nil && $0.0.isWelcome }
  }
}
