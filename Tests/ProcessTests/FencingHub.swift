import BindingProtocol
import Foundation
import Testing
import ZeroMQ

/// A proxy in front of a hub. It forwards frames in both directions, but ends the session whose proposal contains a
/// certain text as fenced, as a hub does when another session takes over the identity. That proposal is lost.
final class FencingHub: Sendable {
  init(at path: String, before hub: String, fencing text: String) {
    Thread.detachNewThread { [weak self] in
      do {
        try FencingHub.pass(at: path, before: hub, fencing: Array(text.utf8)) { self != nil }
      } catch {
        Issue.record(error)
      }
    }
  }

  private static func pass(
    at path: String, before hub: String, fencing text: [UInt8], while isWanted: () -> Bool
  ) throws {
    let context = try Context()
    let peers = try Socket(.router, in: context)
    try peers.bind("ipc://\(path)")
    let dealer = try Socket(.dealer, in: context)
    try dealer.connect(hub)
    var id = RoutingID.random()
    var message = Message()
    var start: StartNumber = 1
    while isWanted() {
      if try peers.receive(from: &id, into: &message) == .received {
        let frame = message.withBytes { Array($0) }
        if case (let header, .propose)? = try? PeerMessage.decode(frame), contains(frame, text) {
          let error = ErrorMessage(session: header.session, code: .fenced, isFatal: true, text: "another goes on")
          try peers.send(HubMessage.error(error).encode(start: start), to: id)
        } else {
          try dealer.send(frame)
        }
      } else if try dealer.receive(into: &message) {
        let frame = message.withBytes { Array($0) }
        if let (header, _) = try? HubMessage.decode(frame) { start = header.start }
        try peers.send(frame, to: id)
      } else {
        _ = try peers.wait(for: .readable, timeoutMilliseconds: 5)
      }
    }
  }

  private static func contains(_ frame: [UInt8], _ text: [UInt8]) -> Bool {
    frame.indices.contains { frame[$0...].starts(with: text) }
  }
}
