import Dispatch

/// What a connection presents at its handshake, as libzmq reports it.
package struct AuthenticationRequest: Hashable, Sendable {
  /// The domain of the endpoint at which it arrived: ``SocketOption/authenticationDomain(_:)``.
  package var domain: String
  /// The other side: an IP address, or `localhost:UID:GID:PID` over `ipc`.
  package var address: String
  /// What it proves.
  package var credentials: Credentials

  /// What a connection proves about itself.
  package enum Credentials: Hashable, Sendable {
    /// Nothing: the mechanism NULL.
    case none
    /// That it has the secret key to this public one.
    case key(PublicKey)
    /// A mechanism that Bindbus does not use.
    case unsupported(mechanism: String)
  }

  /// Makes a request.
  package init(domain: String, address: String, credentials: Credentials) {
    self.domain = domain
    self.address = address
    self.credentials = credentials
  }
}

/// The answer to a connection's handshake.
package enum Admission: Hashable, Sendable {
  /// It may connect; its messages carry this name in ``Message/user``. At most 255 bytes.
  case admitted(user: String)
  /// It may not: it sees ``SocketEvent/HandshakeFailure/authentication(status:)`` with 400, and nothing else.
  case refused
}

/// Decides on a thread of its own which connections may open at the endpoints of a context that name an
/// authentication domain (ZAP 1.0, https://rfc.zeromq.org/spec/27).
///
/// Make it before the first `bind`; a context has at most one. Without one, such an endpoint refuses everybody. Ends
/// with its last reference. Safe on any thread.
package final class Authenticator: @unchecked Sendable {  // SAFETY: `decide` is touched only while `lock` is held
  /// Decides about one connection. Runs on the authenticator's thread; must not block.
  package typealias Decision = @Sendable (AuthenticationRequest) -> Admission

  private var decide: Decision
  private let lock = DispatchSemaphore(value: 1)
  private let isEnding = DispatchSemaphore(value: 0)
  private let wakeup: Wakeup

  /// Starts to answer.
  ///
  /// - Throws: `EADDRINUSE` if the context has one already.
  package init(in context: Context, _ decide: @escaping Decision) throws(ZeroMQError) {
    self.decide = decide
    wakeup = try Wakeup()
    let started = Start()
    let (wakeup, isEnding) = (wakeup, isEnding)
    _ = try SocketThread(name: "authenticator") { [weak self] in
      do throws(ZeroMQError) {
        let socket = try RequestSocket(in: context)
        started.report(nil)
        try socket.serve(wakeup: wakeup, until: { isEnding.wait(timeout: .now()) == .success }) { request, reply in
          // Nobody is left who could have changed the decision: refuse.
          guard let self else { return reply(.refused) }
          self.lock.wait()
          defer { self.lock.signal() }
          reply(self.decide(request))
        }
      } catch {
        // After the start only the end of the context ends it.
        started.report(error)
      }
    }
    if let error = started.wait() { throw error }
  }

  deinit {
    isEnding.signal()
    wakeup.signal()
  }

  /// Changes the decision. When this returns, no connection opens any more by the earlier one.
  package func replace(_ decide: @escaping Decision) {
    lock.wait()
    defer { lock.signal() }
    self.decide = decide
  }

  /// How the thread's start went, for the thread that waits for it.
  private final class Start: @unchecked Sendable {  // SAFETY: `error` is written before `isDone`, and read after it
    private var error: ZeroMQError?
    private var isReported = false
    private let isDone = DispatchSemaphore(value: 0)

    /// Only the first report counts. Called on the authenticator's thread.
    func report(_ error: ZeroMQError?) {
      guard !isReported else { return }
      isReported = true
      self.error = error
      isDone.signal()
    }

    func wait() -> ZeroMQError? {
      isDone.wait()
      return error
    }
  }
}

/// The socket at which libzmq asks.
private struct RequestSocket: ~Copyable {
  private let socket: Socket

  init(in context: Context) throws(ZeroMQError) {
    let socket = try Socket(.router, in: context)
    try socket.bind("inproc://zeromq.zap.01")
    self.socket = socket
  }

  borrowing func serve(
    wakeup: Wakeup, until isEnding: () -> Bool, _ answer: (AuthenticationRequest, (Admission) -> Void) -> Void
  ) throws(ZeroMQError) {
    var poller = Poller()
    let wakeups = poller.add(wakeup)
    _ = poller.add(socket)
    while true {
      _ = try poller.wait(timeoutMilliseconds: -1)
      if poller.isReadable(wakeups) {
        wakeup.clear()
        if isEnding() { return }
      }
      while let frames = try receive() {
        guard let question = Question(frames) else { continue }
        answer(question.request) { send(question.reply($0)) }
      }
    }
  }

  private borrowing func receive() throws(ZeroMQError) -> [[UInt8]]? {
    var frame = Message()
    var frames: [[UInt8]] = []
    while try socket.receive(into: &frame) {
      frames.append(frame.withBytes { Array($0) })
      if !frame.hasMore { return frames }
    }
    return nil
  }

  /// A connection that is gone meanwhile needs no answer.
  private borrowing func send(_ frames: [[UInt8]]) {
    for (index, frame) in frames.enumerated() {
      let flags: SendFlags = index == frames.count - 1 ? .dontWait : [.dontWait, .sendMore]
      guard let outcome = try? socket.send(frame, flags), outcome == .sent else { return }
    }
  }
}

/// The frames of one request: the return address, an empty one, version, request id, domain, address, routing id,
/// mechanism and credentials.
private struct Question {
  let request: AuthenticationRequest
  private let address: [[UInt8]]
  private let id: [UInt8]

  init?(_ frames: [[UInt8]]) {
    guard let end = frames.firstIndex(of: []), frames.count >= end + 7, Self.text(frames[end + 1]) == "1.0" else {
      return nil
    }
    address = Array(frames[...end])
    id = frames[end + 2]
    let credentials: AuthenticationRequest.Credentials
    switch (Self.text(frames[end + 6]), frames.dropFirst(end + 7).first.flatMap(PublicKey.init(_:))) {
    case ("NULL", _): credentials = .none
    case ("CURVE", let key?): credentials = .key(key)
    case (let mechanism, _): credentials = .unsupported(mechanism: mechanism)
    }
    request = AuthenticationRequest(
      domain: Self.text(frames[end + 3]), address: Self.text(frames[end + 4]), credentials: credentials)
  }

  func reply(_ admission: Admission) -> [[UInt8]] {
    let (status, text, user) =
      switch admission {
      case .admitted(let user): ("200", "OK", user)
      case .refused: ("400", "unknown", "")
      }
    return address + [Array("1.0".utf8), id, Array(status.utf8), Array(text.utf8), Array(user.utf8), []]
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
