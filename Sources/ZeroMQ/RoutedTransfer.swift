import CZMQ

/// The result of receiving from a `router`.
package enum RoutedReception: Equatable, Sendable {
  /// One message of one frame was received; the id and the message are filled in.
  case received
  /// Nothing is waiting.
  case nothing
  /// A malformed message was read and dropped. `message` holds the frame after the routing id.
  case rejected(Rejection)

  /// How a message was malformed.
  package enum Rejection: Equatable, Sendable {
    /// The connection's routing id has more than ``RoutingID/maximumByteCount`` bytes; it cannot be answered.
    case routingIDTooLong
    /// More than one frame followed the routing id; the id is filled in.
    case severalFrames
  }
}

extension Socket {
  /// On a `router`: receives the id of the connection and the one frame that it sent, without allocating; never
  /// waits.
  ///
  /// Messages of another form are read to their end here, so that no frame of an untrusted peer can pass as an id.
  @inlinable
  package borrowing func receive(
    from id: inout RoutingID, into message: inout Message
  ) throws(ZeroMQError) -> RoutedReception {
    assert(isOnItsThread)
    var words: (UInt64, UInt64) = (0, 0)
    var length: Int32 = 0
    while true {
      length = withUnsafeMutableBytes(of: &words) { zmq_recv(handle, $0.baseAddress, $0.count, ZMQ_DONTWAIT) }
      if length >= 0 { break }
      if try isNothingToReceive() { return .nothing }
    }
    // libzmq delivers all frames of a message together: the second is there when the first is.
    guard try receive(into: &message) else { return .nothing }
    if length > RoutingID.maximumByteCount || length == 0 {
      try discardFrames(after: message)
      return .rejected(.routingIDTooLong)
    }
    id = RoutingID(words: words, length: UInt8(truncatingIfNeeded: length))
    if message.hasMore {
      try discardFrames(after: message)
      return .rejected(.severalFrames)
    }
    return .received
  }

  @usableFromInline @inline(never)
  borrowing func discardFrames(after first: borrowing Message) throws(ZeroMQError) {
    guard first.hasMore else { return }
    var rest = Message()
    if try receive(into: &rest) { try discardRemainingFrames(after: &rest) }
  }

  /// On a `router`: sends a copy of the bytes as one frame to one connection; never waits, never allocates.
  @inlinable @discardableResult
  package borrowing func send(
    _ bytes: UnsafeRawBufferPointer, to id: RoutingID
  ) throws(ZeroMQError) -> SendOutcome {
    let addressed = try sendAddress(id)
    return addressed == .sent ? try send(bytes, .dontWait) : addressed
  }

  /// On a `router`: sends a copy of the bytes as one frame to one connection; never waits.
  @inlinable @discardableResult
  package borrowing func send(_ bytes: [UInt8], to id: RoutingID) throws(ZeroMQError) -> SendOutcome {
    try bytes.withUnsafeBufferPointer { (buffer) throws(ZeroMQError) in try send(UnsafeRawBufferPointer(buffer), to: id)
    }
  }

  /// On a `router`: sends the message to one connection and keeps it for further sends; never waits.
  @inlinable @discardableResult
  package borrowing func send(sharing message: borrowing Message, to id: RoutingID) throws(ZeroMQError) -> SendOutcome {
    let addressed = try sendAddress(id)
    return addressed == .sent ? try send(sharing: message, .dontWait) : addressed
  }

  /// Sends the address frame, which decides whether a message for this id can be queued: the frame after it always
  /// fits.
  @inlinable
  borrowing func sendAddress(_ id: RoutingID) throws(ZeroMQError) -> SendOutcome {
    try id.withBytes { (bytes) throws(ZeroMQError) in try send(bytes, [.dontWait, .sendMore]) }
  }
}
