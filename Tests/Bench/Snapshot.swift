import ArgumentParser
import BindingPeer
import BindingProtocol
import Dispatch
import Foundation
import ZeroMQ

/// Gives a model the requested number of fields, each with a value of 32 bytes.
struct Fill: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "fill", shouldDisplay: false)
  @Option var request: String
  @Option var fields: FieldID
  @Option var bytes = 32

  func run() throws {
    let context = try Context()
    let dealer = try Sockets.dealer(to: request, in: context)
    var sessions = try HubSessions(in: context)
    let id = SessionID.random(in: 1 ... .max)
    let (_, topic, start) = try sessions.join([id], over: dealer, request: request, model: Snapshot.model)
    _ = try sessions.name(
      fields, of: topic, session: id, start, over: dealer, value: StampText(max(bytes, Stamp.leastBytes)).bytes)
    report("ready")
  }
}

/// Joins a model with many fields and measures from before the connection until the last field has arrived, as
/// messages read or in a peer's replica.
struct Snapshot: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "snapshot", shouldDisplay: false)
  static let model = "large"
  @Option var request: String
  @Option var fields: Int
  @Flag var peer = false

  func run() throws {
    report("ready")
    guard readLine() != nil else { return }
    let start = now()
    let (count, end) = try peer ? shownByPeer() : readAsMessages()
    guard count == fields else { throw Incomplete(count: count, of: fields) }
    report("{\"snapshot\":\(Double(end - start) / 1e6),\"fields\":\(count)}")
  }

  private func readAsMessages() throws -> (count: Int, end: UInt64) {
    let context = try Context()
    let dealer = try Sockets.dealer(to: request, in: context)
    var sessions = try HubSessions(in: context)
    let chunks = try sessions.snapshot(of: Self.model, over: dealer, request: request)
    let end = now()
    let (names, entries) = chunks.reduce((0, 0)) { ($0.0 + $1.names.names.count, $0.1 + $1.entries.count) }
    return (min(names, entries), end)
  }

  private func shownByPeer() throws -> (count: Int, end: UInt64) {
    let peer = try Peer(name: "bench", hub: .at([HubAddress(request)]))
    let model = try peer.model(Self.model)
    let (ready, end) = (DispatchSemaphore(value: 0), Reached())
    Task.detached {
      _ = await model.whenCurrent(timeout: .seconds(60))
      end.time = now()
      ready.signal()
    }
    ready.wait()
    return (model.values.count, end.time)
  }

  struct Incomplete: Error, CustomStringConvertible {
    let count: Int
    let of: Int
    var description: String { "\(count) fields came, not \(of)" }
  }
}

private final class Reached: @unchecked Sendable {  // SAFETY: set before the semaphore admits a reader
  var time: UInt64 = 0
}

extension Sockets {
  /// An established request connection.
  static func dealer(to request: String, _ options: [SocketOption] = [], in context: Context) throws -> Socket {
    let dealer = try Socket(.dealer, in: context)
    try dealer.set(
      [.immediate(true), .sendHighWaterMark(messages: 100_000), .receiveHighWaterMark(messages: 0)] + options)
    try dealer.connect(request)
    _ = try dealer.wait(for: .writable, timeoutMilliseconds: 5_000)
    return dealer
  }
}
