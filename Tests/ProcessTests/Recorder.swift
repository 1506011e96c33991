import BindingProtocol
import Foundation
import Testing

/// A connection over ipc that keeps every byte that reaches it. ipc is not encrypted, so these are all that a client
/// without the right could ever see.
final class Recorder {
  let session = SessionID.random(in: 1 ... .max)
  private(set) var start: StartNumber = 0
  /// All bytes after the handshake.
  private(set) var bytes: [UInt8] = []
  private let connection: RawZMTP

  init(_ endpoint: String, kind: String) throws { connection = try RawZMTP(endpoint, kind: kind) }

  /// A request connection whose session the hub has welcomed.
  static func welcomed(_ endpoint: String) throws -> Recorder {
    let recorder = try Recorder(endpoint, kind: "DEALER")
    let identity = Identity(secret: .random(), name: "ben")
    try recorder.send(.hello(Hello(identity: identity, capabilities: Capability.all)))
    try recorder.record { $0.count > 15 }
    // A ZMTP frame of at most 255 bytes has 2 bytes before its content, a longer one 9.
    let content = recorder.bytes[0] & 2 == 0 ? 2 : 9
    let number = recorder.bytes[(content + 5)..<(content + 9)]
    recorder.start = number.reversed().reduce(0) { $0 << 8 | StartNumber($1) }
    // With all that follows a welcome unasked.
    try recorder.send(.ping(Ping(token: 0x7777_7777_7777_7777)))
    try recorder.record(until: [UInt8](repeating: 0x77, count: 8))
    return recorder
  }

  func send(_ message: PeerMessage) throws { try send(message.encode(session: session, start: start)) }

  func send(_ frame: [UInt8]) throws { try #require(connection.send(RawZMTP.whole(frame))) }

  /// Records until the bytes are what is awaited, at most 20 s.
  func record(until isComplete: ([UInt8]) -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 20)
    while !isComplete(bytes) {
      try #require(Date() < end, "\(bytes.count) bytes came")
      bytes += connection.some(milliseconds: 200)
    }
  }

  func record(until marker: [UInt8]) throws {
    var searched = 0
    try record { bytes in
      defer { searched = max(0, bytes.count - marker.count) }
      return Data(bytes[min(searched, bytes.count)...]).range(of: Data(marker)) != nil
    }
  }

  /// Records until the hub has handled all that was sent.
  func settle() throws {
    let token = UInt64.random(in: 1 ... .max)
    try send(.ping(Ping(token: token)))
    try record(until: withUnsafeBytes(of: token.littleEndian) { Array($0) })
  }

  /// What the hub answers to a frame, with zeros in place of the session's number.
  func answer(to frame: [UInt8]) throws -> [UInt8] {
    let before = bytes.count
    let pong = RawZMTP.whole(
      HubMessage.pong(Pong(session: session, token: 0x7A7A_7A7A_7A7A_7A7A)).encode(start: start))
    // A frame that ends the session makes the ping one of no session.
    let ends = [pong, Array("no such session".utf8)]
    try send(frame)
    // The hub handles joins in shares, between other messages: a few round trips later it has handled this one.
    for trip in 1...4 {
      try send(.ping(Ping(token: 0x7A7A_7A7A_7A7A_7A7A)))
      try record { bytes in ends.reduce(0) { $0 + bytes[before...].ranges(of: $1).count } >= trip }
    }
    return Array(bytes[before...]).replacing(pong, with: []).replacing(
      withUnsafeBytes(of: session.littleEndian) { Array($0) }, with: [UInt8](repeating: 0, count: 8))
  }

  func contains(_ text: [UInt8]) -> Bool { Data(bytes).range(of: Data(text)) != nil }
}
