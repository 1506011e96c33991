import Foundation
import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Long enough for a busy machine; only a failing test waits for it.
let timeoutMilliseconds = 20_000

struct TookTooLong: Error, CustomStringConvertible {
  let description: String
}

/// Polls until the condition holds.
func eventually(_ what: String, _ condition: () throws -> Bool) throws {
  let deadline = ContinuousClock.now + .milliseconds(timeoutMilliseconds)
  while try !condition() {
    if ContinuousClock.now > deadline { throw TookTooLong(description: "never happened: \(what)") }
    poll(nil, 0, 1)
  }
}

/// A value shared between threads.
// SAFETY: `value` is only touched under `lock`.
final class Shared<Value>: @unchecked Sendable {
  private var value: Value
  private let lock = NSLock()

  init(_ value: Value) { self.value = value }

  func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }

  var current: Value {
    get { with { $0 } }
    set { with { $0 = newValue } }
  }
}

/// A private directory with a short path (socket paths are limited), removed at the end.
final class TemporaryDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/zmqtest-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw ZeroMQError.last("mkdtemp") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension Socket {
  /// Creates a socket that listens on a port of its own; options are set before binding.
  static func listening(
    _ kind: Kind, in context: Context, _ options: [SocketOption] = [], at endpoint: String = "tcp://127.0.0.1:*"
  ) throws -> Socket {
    let socket = try Socket(kind, in: context)
    try socket.set(options)
    try socket.bind(endpoint)
    return socket
  }

  static func connected(
    _ kind: Kind, in context: Context, to endpoint: String, _ options: [SocketOption] = []
  ) throws -> Socket {
    let socket = try Socket(kind, in: context)
    try socket.set(options)
    try socket.connect(endpoint)
    return socket
  }

  /// Waits for a free slot in a full context: the library finishes closing sockets in the background.
  static func eventual(_ kind: Kind, in context: Context) throws -> Socket {
    let deadline = ContinuousClock.now + .milliseconds(timeoutMilliseconds)
    while true {
      do throws(ZeroMQError) { return try Socket(kind, in: context) } catch {
        if error.name != "EMFILE" || ContinuousClock.now > deadline { throw error }
        poll(nil, 0, 1)
      }
    }
  }

  /// Waits for one frame.
  borrowing func receiveBytes() throws -> [UInt8] {
    var message = Message()
    guard try wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds), try receive(into: &message) else {
      throw TookTooLong(description: "nothing to receive on \(kind)")
    }
    return message.withBytes { Array($0) }
  }

  /// Waits for the next message of a `router`.
  borrowing func receiveRouted(
    into message: inout Message
  ) throws -> (reception: RoutedReception, id: RoutingID, bytes: [UInt8]) {
    var id = RoutingID.random()
    guard try wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds) else {
      throw TookTooLong(description: "nothing to receive on \(kind)")
    }
    let reception = try receive(from: &id, into: &message)
    return (reception, id, message.withBytes { Array($0) })
  }

  borrowing func receiveRouted() throws -> (reception: RoutedReception, id: RoutingID, bytes: [UInt8]) {
    var message = Message()
    return try receiveRouted(into: &message)
  }
}

extension SocketEvents {
  /// Waits for an event that matches, and skips those before it.
  @discardableResult
  mutating func await(_ what: String, _ isWanted: (SocketEvent.Change) -> Bool) throws -> SocketEvent {
    var found: SocketEvent?
    try eventually(what) {
      while found == nil, let event = try next() {
        if isWanted(event.change) { found = event }
      }
      return found != nil
    }
    return try #require(found)
  }
}

extension SocketEvent.Change {
  var isDisconnected: Bool { if case .disconnected = self { true } else { false } }
  var isAccepted: Bool { if case .accepted = self { true } else { false } }
  var isConnected: Bool { if case .connected = self { true } else { false } }
  var isHandshakeFailed: Bool { if case .handshakeFailed = self { true } else { false } }
}
