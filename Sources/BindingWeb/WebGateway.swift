import BindingKeys
public import BindingProtocol
import Dispatch
public import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Serves pages to browsers and connects them with a hub: over HTTP and WebSockets, on a thread of its own.
///
/// It is a client of the hub, like a peer in the same process. All members may be called from any thread.
public final class WebGateway: Sendable {
  /// What the gateway was made with.
  public let configuration: WebGateway.Configuration
  private let hub: any InProcessTransport
  private let log: Logger

  private struct State: Sendable {
    var hasStarted = false
    var group: MultiThreadedEventLoopGroup?
    var listener: (any Channel)?
    var loop: GatewayLoop?
    var access: AccessControl?
    /// Ends with the gateway; it carries no values.
    var running: AsyncStream<Never>.Continuation?
  }
  private let state = NIOLockedValueBox(State())

  /// Makes a gateway; `start` serves.
  public init(
    hub: any InProcessTransport, configuration: WebGateway.Configuration = WebGateway.Configuration(),
    logger: Logger = Logger(label: "bindhub.web")
  ) {
    self.hub = hub
    self.configuration = configuration
    log = logger
  }

  /// Listens and serves. Blocks the calling thread until the address is bound; the hub need not answer yet.
  /// - Throws: `WebError`, with the remedy; nothing listens then.
  public func start() throws(WebError) {
    try configuration.check()
    let tls = try configuration.certificate.map { files throws(WebError) in try ServerTLS(files) }
    let userPages = try configuration.pagesFolder.map { path throws(WebError) in try UserPages(path) }
    let isFirst = state.withLockedValue { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    guard isFirst else { throw .startedBefore }
    let earlier = try configuration.keyPath.flatMap { path throws(WebError) in try WebEntry.read(path) }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let loop = GatewayLoop(hub: hub, configuration: configuration, log: log, on: group.next())
    let keys = configuration.keys.map { HubKeys(in: $0) }
    do {
      let listener = try Listener.listen(configuration, loop: loop, group: group)
      let key = WebKey(token: earlier?.key.token)
      let access = AccessControl(
        configuration, port: listener.localAddress?.port ?? configuration.address.port,
        key: configuration.isTokenAsked ? key : nil, tls: tls, members: try members(keys, on: loop.loop))
      if let path = configuration.keyPath {
        try WebEntry(path: path, for: access, key: key).write()
      }
      try keys?.recordPages(at: access.origin)
      let questions = HubQuestions(hub: hub, on: loop.loop, timeout: configuration.limits.reportTimeout)
      let router = RequestRouter(access: access, userPages: userPages, loop: loop, questions: questions)
      loop.loop.execute { loop.start(router: router, listener: listener) }
      tls?.watch(on: loop.loop, log)
      state.withLockedValue { state in
        state.group = group
        state.listener = listener
        state.loop = loop
        state.access = access
      }
    } catch {
      try? group.syncShutdownGracefully()
      throw Listener.failure(error, at: configuration.address)
    }
    log.info("serving pages", metadata: ["address": "\(address)"])
    if configuration.isUnprotected {
      log.warning("anyone on the network can read and change the pages", metadata: ["address": "\(address)"])
    }
  }

  private func members(_ keys: HubKeys?, on loop: any EventLoop) throws -> PageSessions? {
    guard let keys else { return nil }
    return try PageSessions(keys, on: loop) { [log] in log.error("members' browsers stay as they were: \($0)") }
  }

  /// Starts the gateway, serves until its task is cancelled or the gateway is stopped, and then stops it. For a program
  /// of tasks, as a member of a task group or a service of swift-service-lifecycle.
  /// - Throws: `WebError` as `start` does.
  public func run() async throws(WebError) {
    let (stopped, running) = AsyncStream<Never>.makeStream()
    state.withLockedValue { $0.running = running }
    try start()
    // A cancelled task's stream ends too.
    for await _ in stopped {}
    // Not on a thread of the tasks: it waits for the gateway's thread.
    await withCheckedContinuation { ended in
      DispatchQueue.global().async {
        self.stop()
        ended.resume()
      }
    }
  }

  /// Closes all pages and connections, and ends the thread. Blocks the calling thread briefly; do not call it on
  /// the gateway's own thread.
  public func stop() {
    let ended = state.withLockedValue { state in
      let ended = state
      state.group = nil
      state.listener = nil
      state.loop = nil
      state.running = nil
      return ended
    }
    ended.running?.finish()
    guard let group = ended.group, let loop = ended.loop else { return }
    try? ended.listener?.close().wait()
    try? loop.loop.submit { loop.end() }.wait()
    try? group.syncShutdownGracefully()
    log.info("stopped serving pages")
  }

  /// Reads the files of the certificate again, for new connections; those that are open stay. If they are wrong, the
  /// certificate of before stays in use, and the status tells why. Without a certificate it does nothing.
  /// - Throws: `WebError.certificate`, with what to do.
  public func reloadCertificate() throws(WebError) {
    guard let tls = state.withLockedValue({ $0.access })?.tls else { return }
    do throws(WebError) {
      try tls.reload()
    } catch {
      log.error("\(error); the certificate of before stays in use")
      throw error
    }
    log.info("using the certificate as it is now", metadata: ["until": "\(CertificateTerm.text(tls.until))"])
    if let problem = tls.problem(at: WebEntry.now) { log.warning("\(problem)") }
  }

  /// The address to open in a browser. Each read returns a new code, which works once, within five minutes; empty
  /// before `start`.
  public var url: String { state.withLockedValue { $0.access }?.url ?? "" }

  /// `HOST:PORT`, with the chosen port; as in the configuration before `start`.
  public var address: String { state.withLockedValue { $0.access }?.address ?? configuration.address.description }

  /// The token that programs send as `Authorization: Bearer TOKEN`; nil if none is required, and before `start`.
  public var token: String? { state.withLockedValue { $0.access }?.key?.token }
}
