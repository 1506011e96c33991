public import CZMQ

/// One frame. It is made once and reused for any number of receives without allocating.
///
/// Belongs to one thread at a time, like the sockets it is used with.
@usableFromInline package struct Message: ~Copyable {
  @usableFromInline let pointer: UnsafeMutablePointer<zmq_msg_t>

  /// Makes an empty message, to be received into.
  package init() {
    pointer = .allocate(capacity: 1)
    zmq_msg_init(pointer)
  }

  /// Makes a message with a copy of the bytes, for sending the same bytes to many connections:
  /// ``Socket/send(sharing:to:)``.
  ///
  /// - Throws: `ENOMEM`.
  package init(copying bytes: UnsafeRawBufferPointer) throws(ZeroMQError) { pointer = try Self.copy(bytes) }

  /// Makes a message with a copy of the bytes.
  ///
  /// - Throws: `ENOMEM`.
  package init(copying bytes: [UInt8]) throws(ZeroMQError) {
    pointer = try bytes.withUnsafeBufferPointer { (buffer) throws(ZeroMQError) in
      try Self.copy(UnsafeRawBufferPointer(buffer))
    }
  }

  deinit {
    zmq_msg_close(pointer)
    pointer.deallocate()
  }

  /// The length of the frame, in bytes.
  @inlinable package var byteCount: Int { zmq_msg_size(pointer) }

  /// Whether another frame of the same message follows.
  @inlinable package var hasMore: Bool { zmq_msg_more(pointer) != 0 }

  /// The bytes, valid only inside the call.
  @inlinable
  package borrowing func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(unsafeBytes)
  }

  /// The bytes in place: valid until this message is received into, sent or destroyed. For loops where a closure is
  /// in the way; do not keep a copy of the pointer.
  @inlinable
  package var unsafeBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: zmq_msg_data(pointer), count: zmq_msg_size(pointer))
  }

  /// The file descriptor of the connection that delivered this message, for ``ConnectionCut``; nil for `inproc://`
  /// and for messages that were not received. Costs a text lookup: read it once per connection, not per message.
  package var sourceFileDescriptor: Int32? {
    let number = zmq_msg_get(pointer, ZMQ_SRCFD)
    return number >= 0 ? number : nil
  }

  /// The name by which the ``Authenticator`` admitted the connection that sent this message; nil where none was asked:
  /// then a client can put any name here. Costs a text lookup: read it once per connection.
  package var user: String? { zmq_msg_gets(pointer, "User-Id").map { String(cString: $0) } }

  /// Whether ``user`` is this name, which ends with a zero. Copies nothing.
  package func isFrom(_ name: ContiguousArray<CChar>) -> Bool {
    guard let user = zmq_msg_gets(pointer, "User-Id") else { return false }
    return name.withUnsafeBufferPointer { name in name.baseAddress.map { strcmp(user, $0) == 0 } ?? false }
  }

  private static func copy(_ bytes: UnsafeRawBufferPointer) throws(ZeroMQError) -> UnsafeMutablePointer<zmq_msg_t> {
    let memory = UnsafeMutablePointer<zmq_msg_t>.allocate(capacity: 1)
    if zmq_msg_init_size(memory, bytes.count) != 0 {
      let error = ZeroMQError.last("zmq_msg_init_size", "\(bytes.count) bytes")
      memory.deallocate()
      throw error
    }
    if let start = bytes.baseAddress { zmq_msg_data(memory).copyMemory(from: start, byteCount: bytes.count) }
    return memory
  }
}

/// The memory of the bytes belongs to one thread at a time.
@available(*, unavailable)
extension Message: Sendable {}
