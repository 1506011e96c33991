#if Etcd
  import CNGHTTP2

  /// The client's side of one HTTP/2 connection that carries gRPC calls, without a socket: bytes in, bytes out.
  ///
  /// To be used by one thread at a time. A call that ends may begin others.
  final class HTTP2Session {
    /// What comes of a call.
    struct Call {
      /// Takes each message of the response.
      var received: ([UInt8]) -> Void
      /// Takes the end: the gRPC status with its text; nil: the stream was cut, so nobody knows.
      var ended: (_ status: Int?, _ text: String) -> Void
    }
    private struct Stream {
      var call: Call
      var outgoing: [UInt8]
      var position = 0
      var isLast: Bool
      var incoming: [UInt8] = []
      var httpStatus = ""
      var status: Int?
      var text = ""
    }
    private var session: OpaquePointer?
    private var streams: [Int32: Stream] = [:]
    private let authority: [UInt8]
    private let scheme: [UInt8]

    /// The longest message of a response.
    static let maxMessageBytes = 64 << 20

    init(authority: String, isEncrypted: Bool) {
      self.authority = Array(authority.utf8)
      scheme = Array((isEncrypted ? "https" : "http").utf8)
      var callbacks: OpaquePointer?
      nghttp2_session_callbacks_new(&callbacks)
      nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, frame, name, nameCount, value, count, _, user in
        guard let frame, let name, let value, let session = HTTP2Session.of(user) else { return 0 }
        session.takeHeader(
          frame.pointee.hd.stream_id, UnsafeBufferPointer(start: name, count: nameCount),
          UnsafeBufferPointer(start: value, count: count))
        return 0
      }
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, user in
        HTTP2Session.of(user)?.takeData(stream, UnsafeBufferPointer(start: bytes, count: count)) ?? false
          ? 0 : Int32(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
      }
      nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, user in
        HTTP2Session.of(user)?.end(stream, code)
        return 0
      }
      // The callbacks get an unretained reference: the session is deleted with this object.
      nghttp2_session_client_new(&session, callbacks, Unmanaged.passUnretained(self).toOpaque())
      nghttp2_session_callbacks_del(callbacks)
      var settings = nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: 1 << 24)
      nghttp2_submit_settings(session, 0, &settings, 1)
      nghttp2_session_set_local_window_size(session, 0, 0, 1 << 26)
    }

    deinit { nghttp2_session_del(session) }

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2Session? {
      user.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Calls

    /// Begins a call with one message.
    /// - Parameter isLast: whether no message follows. A watch stays open.
    /// - Returns: its stream; nil: the connection takes no more.
    func start(_ path: String, _ message: [UInt8], token: String, isLast: Bool, _ call: Call) -> Int32? {
      let names = [":method", ":scheme", ":path", ":authority", "te", "content-type", "token"].map { Array($0.utf8) }
      let values = [
        Array("POST".utf8), scheme, Array(path.utf8), authority, Array("trailers".utf8),
        Array("application/grpc".utf8), Array(token.utf8),
      ]
      let count = token.isEmpty ? names.count - 1 : names.count
      var provider = nghttp2_data_provider()
      provider.read_callback = { _, stream, place, room, flags, _, user in
        guard let session = HTTP2Session.of(user), let place, let flags else {
          return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        return session.giveData(stream, UnsafeMutableBufferPointer(start: place, count: room), flags)
      }
      // nghttp2 copies names and values.
      let stream = HTTP2Session.withHeaders(names[..<count], values[..<count]) { headers in
        nghttp2_submit_request(session, nil, headers.baseAddress, headers.count, &provider, nil)
      }
      guard stream > 0 else { return nil }
      let size = UInt32(message.count)
      let head = [0] + (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * UInt32($0))) }
      streams[stream] = Stream(call: call, outgoing: head + message, isLast: isLast)
      return stream
    }

    private static func withHeaders(
      _ names: ArraySlice<[UInt8]>, _ values: ArraySlice<[UInt8]>,
      _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
      let lengths = zip(names, values).map { ($0.count, $1.count) }
      var bytes = Array(zip(names, values).map { $0 + $1 }.joined())
      return bytes.withUnsafeMutableBufferPointer { bytes in
        guard var place = bytes.baseAddress else { return -1 }
        let headers = lengths.map { name, value in
          defer { place += name + value }
          return nghttp2_nv(name: place, value: place + name, namelen: name, valuelen: value, flags: 0)
        }
        return headers.withUnsafeBufferPointer(body)
      }
    }

    /// Ends a call of which nothing more is wanted; nothing is told of it any more.
    func cancel(_ stream: Int32) {
      guard streams.removeValue(forKey: stream) != nil else { return }
      nghttp2_submit_rst_stream(session, 0, stream, UInt32(NGHTTP2_CANCEL.rawValue))
    }

    /// Ends all calls, because the connection is gone.
    func cut() {
      let all = streams
      streams.removeAll()
      for stream in all.values { stream.call.ended(nil, "the connection was lost") }
    }

    /// Whether the other side has said that it takes no more calls.
    var isClosing: Bool { nghttp2_session_check_request_allowed(session) == 0 }

    // MARK: Bytes

    /// The bytes to be sent now.
    func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) {
      var data: UnsafePointer<UInt8>?
      while true {
        let count = nghttp2_session_mem_send(session, &data)
        guard count > 0, let data else { return }
        body(UnsafeRawBufferPointer(start: data, count: count))
      }
    }

    /// Takes bytes that came.
    /// - Returns: whether they are HTTP/2.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
      let bytes = bytes.bindMemory(to: UInt8.self)
      return nghttp2_session_mem_recv(session, bytes.baseAddress, bytes.count) == bytes.count
    }

    private func giveData(
      _ id: Int32, _ room: UnsafeMutableBufferPointer<UInt8>, _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
      guard let stream = streams[id] else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
      let count = min(room.count, stream.outgoing.count - stream.position)
      if count == 0, !stream.isLast { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
      _ = room.update(fromContentsOf: stream.outgoing[stream.position..<stream.position + count])
      streams[id]?.position += count
      guard stream.position + count == stream.outgoing.count else { return count }
      streams[id]?.outgoing = []
      streams[id]?.position = 0
      if stream.isLast { flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
      return count
    }

    private func takeHeader(_ id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
      switch String(decoding: name, as: UTF8.self) {
      case ":status": streams[id]?.httpStatus = String(decoding: value, as: UTF8.self)
      case "grpc-status": streams[id]?.status = Int(String(decoding: value, as: UTF8.self)) ?? 2
      case "grpc-message": streams[id]?.text = HTTP2Session.text(fromPercents: value)
      default: break
      }
    }

    private static func text(fromPercents value: UnsafeBufferPointer<UInt8>) -> String {
      var (bytes, rest) = ([UInt8](), value[...])
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
          bytes.append(code)
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    private func takeData(_ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
      streams[id]?.incoming += bytes
      while let stream = streams[id], stream.incoming.count >= 5 {
        let size = stream.incoming[1..<5].reduce(0) { $0 << 8 | Int($1) }
        // Compression was not offered.
        guard size <= HTTP2Session.maxMessageBytes, stream.incoming[0] == 0 else { return false }
        guard stream.incoming.count >= 5 + size else { return true }
        let message = Array(stream.incoming[5..<5 + size])
        streams[id]?.incoming.removeFirst(5 + size)
        stream.call.received(message)
      }
      return true
    }

    private func end(_ id: Int32, _ code: UInt32) {
      guard let stream = streams.removeValue(forKey: id) else { return }
      if let status = stream.status {
        stream.call.ended(status, stream.text)
      } else if code == 0, !stream.httpStatus.isEmpty, stream.httpStatus != "200" {
        stream.call.ended(2, "the server answers HTTP status \(stream.httpStatus)")
      } else {
        stream.call.ended(nil, "the stream was cut")
      }
    }
  }
#endif
