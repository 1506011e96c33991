#if Etcd
  import BindingHub
  import NIOCore
  import NIOPosix

  /// A connection to one node at a time, of those that the address names. All of it is on its event loop.
  ///
  /// A call whose answer does not come moves the client on to the next node: the one at hand may be cut off from the
  /// others. Nothing is known then of what the call did.
  final class EtcdClient: @unchecked Sendable {  // SAFETY: everything that changes is touched on the event loop only.
    /// Why a call has no answer.
    enum Failure: Error {
      /// It may have been carried out or not.
      case lost(String)
      /// It was not carried out.
      case refused(status: Int, String)
    }
    typealias Answer = Result<[UInt8], Failure>
    private struct Waiting {
      var path: String
      var message: [UInt8]
      var deadline: NIODeadline
      var then: (Answer) -> Void
    }
    /// What the client tells.
    struct Events: Sendable {
      /// Whether a node answers.
      var changed: @Sendable (Bool) -> Void = { _ in }
      /// Nothing but a change by a person helps.
      var failed: @Sendable (StoreError) -> Void = { _ in }
    }

    let loop: any EventLoop
    let address: EtcdAddress
    let options: EtcdOptions
    private let tls: EtcdTLS?
    private let keys: EtcdKeys
    var events = Events()
    private(set) var isReady = false
    /// Why there is no connection.
    private(set) var trouble = "not connected yet"
    private var connection: EtcdConnection?
    private var waiting: [Waiting] = []
    private var credentials: EtcdCredentials
    private var next: Int
    private var failures = 0
    private var isClosed = false

    init(loop: any EventLoop, _ address: EtcdAddress, _ options: EtcdOptions) throws(StoreError) {
      (self.loop, self.address, self.options) = (loop, address, options)
      let usesTLS = address.usesTLS || options.ca != nil || options.certificate != nil
      tls = usesTLS ? try EtcdTLS(options, protocols: ["h2"]) : nil
      credentials = try EtcdCredentials(options)
      keys = EtcdKeys(address.prefix)
      // All hubs at the first node would be all at the next one after its end.
      next = .random(in: 0..<max(address.endpoints.count, 1))
    }

    // MARK: Calls

    /// Calls a method, and passes its answer on the loop.
    func call(_ path: String, _ message: [UInt8], _ then: @escaping (Answer) -> Void) {
      loop.preconditionInEventLoop()
      let deadline = NIODeadline.now() + timeout
      guard isReady else { return wait(Waiting(path: path, message: message, deadline: deadline, then: then)) }
      begin(path, message) { [self] answer in
        guard case .failure(.refused(let status, let text)) = answer, credentials.isStale(status, text) else {
          return then(answer)
        }
        // The token ended, or roles changed: once more with another.
        credentials.forget()
        reconnect("the user's token ended")
        wait(Waiting(path: path, message: message, deadline: deadline, then: then))
      }
    }

    /// Calls a method from another thread.
    func future(_ path: String, _ message: [UInt8]) -> EventLoopFuture<[UInt8]> {
      let promise = loop.makePromise(of: [UInt8].self)
      loop.execute { self.call(path, message) { promise.completeWith($0.mapError { $0 as any Error }) } }
      return promise.futureResult
    }

    /// Opens a stream that stays.
    /// - Returns: what ends it; nil: there is no connection.
    func open(
      _ path: String, _ message: [UInt8], received: @escaping ([UInt8]) -> Void, ended: @escaping () -> Void
    ) -> (() -> Void)? {
      guard isReady, let connection else { return nil }
      let call = HTTP2Session.Call(received: received) { _, _ in ended() }
      guard let stream = connection.start(path, message, token: credentials.token, isLast: false, call) else {
        return nil
      }
      return { [weak connection] in connection?.cancel(stream) }
    }

    private var timeout: TimeAmount { TimeAmount(options.callTimeout) }

    private func wait(_ call: Waiting) {
      guard !isClosed else { return call.then(.failure(.lost("closed"))) }
      waiting.append(call)
      loop.after(call.deadline - .now()) { [self] in
        let late = waiting.filter { $0.deadline <= .now() }
        waiting.removeAll { $0.deadline <= .now() }
        for call in late { call.then(.failure(.lost(trouble))) }
      }
    }

    /// Begins a call on the connection, ready or not.
    /// - Parameter limit: when it is given up, with its connection; nil: as every call.
    private func begin(
      _ path: String, _ message: [UInt8], within limit: TimeAmount? = nil, _ then: @escaping (Answer) -> Void
    ) {
      guard let connection else { return then(.failure(.lost(trouble))) }
      var response: [UInt8] = []
      var late: Scheduled<Void>?
      let ended = { (status: Int?, text: String) in
        late?.cancel()
        switch status {
        case 0?: then(.success(response))
        case nil: then(.failure(.lost(text)))
        // Unavailable, late, aborted or of unknown effect: etcd says so of what it may carry out yet.
        case 1?, 2?, 4?, 10?, 14?: then(.failure(.lost(text)))
        case let status?: then(.failure(.refused(status: status, text)))
        }
      }
      let call = HTTP2Session.Call(received: { response = $0 }, ended: ended)
      guard let stream = connection.start(path, message, token: credentials.token, call) else {
        return then(.failure(.lost(trouble)))
      }
      late = loop.after(limit ?? timeout) { [self, weak connection] in
        guard let connection, connection === self.connection else { return }
        connection.cancel(stream)
        then(.failure(.lost("\(connection.endpoint) does not answer")))
        reconnect("\(connection.endpoint) does not answer")
      }
    }

    // MARK: Connecting

    /// Begins to connect.
    func start() { loop.execute { self.connect() } }

    /// Ends everything; what has no answer is lost.
    func close() {
      isClosed = true
      isReady = false
      let calls = waiting
      waiting.removeAll()
      for call in calls { call.then(.failure(.lost("closed"))) }
      let connection = connection
      self.connection = nil
      connection?.close("closed")
    }

    private func reconnect(_ reason: String) {
      trouble = reason
      connection?.close(reason)
    }

    private func connect() {
      guard !isClosed, connection == nil else { return }
      let endpoint = address.endpoints[next % address.endpoints.count]
      next += 1
      let connection = EtcdConnection(endpoint, isEncrypted: tls != nil) { [self] reason in lost(reason) }
      self.connection = connection
      let bound = NIOLoopBound(connection, eventLoop: loop)
      let tls = tls
      ClientBootstrap(group: loop).connectTimeout(timeout).channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let tls { try pipeline.addHandler(try tls.handler(for: endpoint.host)) }
            try pipeline.addHandler(bound.value)
          }
        }
        .connect(host: endpoint.host, port: endpoint.port)
        .whenComplete { [self] result in
          switch result {
          case .success: greet(bound.value)
          case .failure(let error): bound.value.close("\(endpoint): \(EtcdClient.text(of: error))")
          }
        }
    }

    /// Authenticates, and asks for the log's identity, which only a node with a leader can tell.
    private func greet(_ connection: EtcdConnection) {
      guard connection === self.connection else { return }
      guard credentials.needsToken else { return probe(connection) }
      begin("/etcdserverpb.Auth/Authenticate", credentials.request) { [self] answer in
        switch answer {
        case .success(let bytes):
          credentials.token = (try? EtcdResponse.text(2, bytes[...])) ?? ""
          probe(connection)
        case .failure(.refused(_, let text)):
          if let error = credentials.error(text, address) { events.failed(error) }
          connection.close(text)
        case .failure(.lost(let text)): connection.close("\(connection.endpoint): \(text)")
        }
      }
    }

    private func probe(_ connection: EtcdConnection) {
      // At first another node may answer sooner than a stopped one is given up; later all of them may be slow.
      let limit = rounds < EtcdClient.hastyRounds ? min(timeout, EtcdClient.hastyLimit) : timeout
      begin(EtcdClient.range, EtcdRange(key: keys.log).bytes, within: limit) { [self] answer in
        guard connection === self.connection else { return }
        switch answer {
        case .success: ready()
        case .failure(.refused(let status, let text)):
          if credentials.isStale(status, text) {
            credentials.forget()
          } else if let error = credentials.error(text, address) {
            events.failed(error)
          }
          connection.close(text)
        case .failure(.lost(let text)): connection.close("\(connection.endpoint): \(text)")
        }
      }
    }

    private func ready() {
      isReady = true
      failures = 0
      renewLater()
      let calls = waiting
      waiting.removeAll()
      events.changed(true)
      for entry in calls { call(entry.path, entry.message, entry.then) }
    }

    /// A token is renewed before it ends: a new connection gets another, and the old one is let go.
    private func renewLater() {
      guard credentials.hasUser else { return }
      let renewed = connection
      loop.after(TimeAmount(options.tokenLife) / 3 * 2) { [self, weak renewed] in
        guard let renewed, renewed === connection, isReady else { return }
        begin("/etcdserverpb.Auth/Authenticate", credentials.request) { [self] answer in
          if case .success(let bytes) = answer, let token = try? EtcdResponse.text(2, bytes[...]) {
            credentials.token = token
          }
          renewLater()
        }
      }
    }

    private func lost(_ reason: String) {
      connection = nil
      trouble = reason
      let was = isReady
      isReady = false
      guard !isClosed else { return }
      if was { events.changed(false) }
      failures += 1
      // The first time each node is tried at once; then ever more slowly, at least twice a second: writers wait.
      let pause = rounds == 0 ? Int64.random(in: 0...20) : Int64(25) << Int64(min(rounds, 3))
      loop.after(.milliseconds(pause + .random(in: 0...pause))) { [self] in connect() }
    }

    /// How often each node was tried since one answered.
    private var rounds: Int { failures / max(address.endpoints.count, 1) }
    private static let hastyRounds = 2
    private static let hastyLimit = TimeAmount.milliseconds(300)

    private static func text(of error: any Error) -> String {
      if let error = error as? NIOConnectionError {
        return error.connectionErrors.first.map { text(of: $0.error) } ?? "its name is not known"
      }
      if let error = error as? IOError { return error.errnoCode == ECONNREFUSED ? "nobody listens there" : "\(error)" }
      if error is ChannelError { return "it does not answer" }
      return EtcdTLS.text(of: error)
    }

    static let range = "/etcdserverpb.KV/Range"
    static let transaction = "/etcdserverpb.KV/Txn"
  }

  extension EventLoop {
    /// Does something later on this loop, which is the present one.
    @discardableResult func after(_ delay: TimeAmount, _ body: @escaping () -> Void) -> Scheduled<Void> {
      assumeIsolated().scheduleTask(in: delay) { body() }
    }
  }

  extension TimeAmount {
    init(_ duration: Duration) {
      let (seconds, attoseconds) = duration.components
      self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    static func / (left: TimeAmount, right: Int64) -> TimeAmount { .nanoseconds(left.nanoseconds / right) }
  }
#endif
