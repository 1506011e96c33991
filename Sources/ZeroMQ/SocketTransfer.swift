public import CZMQ

/// Options of a send.
@usableFromInline package struct SendFlags: OptionSet, Sendable {
  @usableFromInline package let rawValue: Int32
  @inlinable package init(rawValue: Int32) { self.rawValue = rawValue }

  /// Return immediately when the queue is full.
  @inlinable package static var dontWait: SendFlags { SendFlags(rawValue: ZMQ_DONTWAIT) }
  /// Another frame of the same message follows.
  @inlinable package static var sendMore: SendFlags { SendFlags(rawValue: ZMQ_SNDMORE) }
}

/// The result of a send.
package enum SendOutcome: Equatable, Sendable {
  /// Queued. Arrival is not guaranteed.
  case sent
  /// The queue is full, or no peer is connected yet; nothing was sent.
  case wouldBlock
  /// A `router` has no connection of that id; nothing was sent.
  case hostUnreachable
}

extension Socket {
  /// Sends a copy of the bytes as one frame. Signals do not interrupt it.
  @inlinable @discardableResult
  package borrowing func send(
    _ bytes: UnsafeRawBufferPointer, _ flags: SendFlags = .dontWait
  ) throws(ZeroMQError) -> SendOutcome {
    assert(isOnItsThread)
    while zmq_send(handle, bytes.baseAddress, bytes.count, flags.rawValue) < 0 {
      if let outcome = try outcomeOfFailedSend() { return outcome }
    }
    return .sent
  }

  /// Sends a copy of the bytes as one frame.
  @inlinable @discardableResult
  package borrowing func send(_ bytes: [UInt8], _ flags: SendFlags = .dontWait) throws(ZeroMQError) -> SendOutcome {
    try bytes.withUnsafeBufferPointer { (buffer) throws(ZeroMQError) in try send(UnsafeRawBufferPointer(buffer), flags)
    }
  }

  /// Sends the message without copying: it is empty afterwards if it was sent, unchanged if not.
  @inlinable @discardableResult
  package borrowing func send(
    _ message: inout Message, _ flags: SendFlags = .dontWait
  ) throws(ZeroMQError) -> SendOutcome {
    assert(isOnItsThread)
    while zmq_msg_send(message.pointer, handle, flags.rawValue) < 0 {
      if let outcome = try outcomeOfFailedSend() { return outcome }
    }
    return .sent
  }

  /// Sends the message and keeps it; the bytes are shared, not copied (except very short ones).
  @inlinable @discardableResult
  package borrowing func send(
    sharing message: borrowing Message, _ flags: SendFlags = .dontWait
  ) throws(ZeroMQError) -> SendOutcome {
    assert(isOnItsThread)
    var share = zmq_msg_t()
    zmq_msg_init(&share)
    zmq_msg_copy(&share, message.pointer)
    while zmq_msg_send(&share, handle, flags.rawValue) < 0 {
      let outcome: SendOutcome?
      do { outcome = try outcomeOfFailedSend() } catch {
        zmq_msg_close(&share)
        throw error
      }
      if let outcome {
        zmq_msg_close(&share)
        return outcome
      }
    }
    return .sent
  }

  /// Receives one frame if there is one; never waits. Check ``Message/hasMore``: an untrusted peer may send several
  /// frames where one is expected.
  ///
  /// - Returns: false if nothing was waiting; the message is then empty.
  @inlinable
  package borrowing func receive(into message: inout Message) throws(ZeroMQError) -> Bool {
    assert(isOnItsThread)
    while zmq_msg_recv(message.pointer, handle, ZMQ_DONTWAIT) < 0 {
      if try isNothingToReceive() { return false }
    }
    return true
  }

  /// Reads and drops the remaining frames of a message; the last frame stays in `message`.
  package borrowing func discardRemainingFrames(after message: inout Message) throws(ZeroMQError) {
    while message.hasMore, try receive(into: &message) {}
  }

  /// Nil: interrupted, to be tried again.
  @usableFromInline @inline(never)
  borrowing func outcomeOfFailedSend() throws(ZeroMQError) -> SendOutcome? {
    let code = zmq_errno()
    switch code {
    case ErrorName.interrupted: return nil
    case ErrorName.wouldBlock: return .wouldBlock
    case ErrorName.unreachable: return .hostUnreachable
    default: throw ZeroMQError(code: code, call: "zmq_send", subject: kind.rawValue)
    }
  }

  /// False: interrupted, to be tried again.
  @usableFromInline @inline(never)
  borrowing func isNothingToReceive() throws(ZeroMQError) -> Bool {
    let code = zmq_errno()
    switch code {
    case ErrorName.interrupted: return false
    case ErrorName.wouldBlock: return true
    default: throw ZeroMQError(code: code, call: "zmq_msg_recv", subject: kind.rawValue)
    }
  }
}
