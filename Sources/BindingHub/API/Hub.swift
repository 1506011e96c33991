public import BindingProtocol
import Dispatch
public import Logging
import ZeroMQ

/// A running hub: it orders, stores and relays the commits of all models.
///
/// `start` binds the addresses and starts one thread that owns sockets, machine and store. Every method here may be
/// called on any thread.
public final class Hub: Sendable {
  /// What the hub was created with.
  public let configuration: Configuration
  private let mailbox: HubMailbox
  private let log: Logger

  /// Creates a hub that does not run yet.
  /// - Throws: `HubError.system` when the system refuses what the hub needs to be woken.
  public init(
    configuration: Configuration = Configuration(), logger: Logger = Logger(label: "bindhub")
  ) throws(HubError) {
    self.configuration = configuration
    log = logger
    do throws(ZeroMQError) {
      mailbox = try HubMailbox()
    } catch {
      throw .system("cannot start: \(error)")
    }
  }

  /// Starts a hub in memory without an address, for peers of the same process. With it a program's tests need no
  /// server:
  /// ```swift
  /// let hub = try Hub.embedded()
  /// let app = try Peer(name: "app", hub: .inProcess(hub)), other = Peer(name: "other", hub: .inProcess(hub))
  /// let mine = try await app.share(Lamp.self, id: "lamp", on: .direct)
  /// let theirs = try await other.share(Lamp.self, id: "lamp", on: .direct)
  /// try await mine.applied(try await mine.$level.write(0.8).committed, by: .all, timeout: .seconds(2))
  /// assert(theirs.level == 0.8)
  /// ```
  public static func embedded(name: String = "embedded") throws(HubError) -> Hub {
    var configuration = Hub.Configuration()
    configuration.name = name
    configuration.listen = []
    let hub = try Hub(
      configuration: configuration, logger: Logger(label: "bindhub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
    return hub
  }

  /// Binds the addresses and serves on a thread of its own. Returns once the hub listens.
  /// - Throws: `HubError`, which names the obstacle and the remedy. Nothing stays bound then.
  public func start() throws(HubError) {
    let result = HubResult()
    let (configuration, mailbox, log) = (configuration, mailbox, log)
    do throws(ZeroMQError) {
      let thread = try SocketThread(name: "bindhub") {
        do throws(HubError) {
          mailbox.markEnded(try Hub.run(configuration, mailbox, log, result))
        } catch {
          result.set(.failure(error))
          mailbox.markEnded(StoreError(error.description))
        }
      }
      mailbox.setThread(thread)
    } catch {
      throw .system("Cannot start a thread: \(error)")
    }
    mailbox.setAddresses(try result.wait().get())
  }

  /// Starts the hub, serves until its task is cancelled or the hub is stopped, and then stops it. For a program of
  /// tasks, as a member of a task group or a service of swift-service-lifecycle:
  /// ```swift
  /// try await withThrowingTaskGroup(of: Void.self) { group in
  ///   group.addTask { try await hub.run() }
  ///   group.addTask { try await gateway.run() }
  ///   try await group.waitForAll()
  /// }
  /// ```
  /// - Throws: `HubError` as `start` does; `StoreError` if a failing store ended the hub.
  public func run() async throws {
    try start()
    let mailbox = mailbox
    await withTaskCancellationHandler {
      await withCheckedContinuation { ended in mailbox.whenEnded { ended.resume() } }
    } onCancel: {
      mailbox.post(.stop)
    }
    // Only the last lines of the thread are left.
    _ = mailbox.join(timeout: .seconds(5))
    if let failure = mailbox.failure { throw failure }
  }

  /// Serves until the hub is stopped, and opens the store again each time it is restored from a backup.
  /// - Returns: the store's failure; nil: the hub was stopped.
  private static func run(
    _ configuration: Configuration, _ mailbox: HubMailbox, _ log: Logger, _ result: HubResult
  ) throws(HubError) -> StoreError? {
    var configuration = configuration
    while true {
      let loop = try HubLoop(configuration: configuration, mailbox: mailbox, log: log)
      result.set(.success(loop.addresses))
      // At the same addresses, with the ports picked before.
      configuration.listen = loop.addresses
      switch loop.run() {
      case .stopped: return nil
      case .failed(let error): return error
      case .again: continue
      }
    }
  }

  /// The addresses on which this hub listens, with the ports picked for `*`.
  public var addresses: [HubAddress] { mailbox.addresses }

  /// Stops the hub: stores and sends every decision, tells all sessions that it is going down, and ends its thread.
  /// - Parameter timeout: how long to wait for the thread on the calling thread.
  /// - Returns: whether the thread has ended in that time.
  @discardableResult
  public func stop(timeout: Duration = .seconds(5)) -> Bool {
    mailbox.stop(timeout: timeout)
  }

  /// Calls `body` on the hub's thread when it next looks for messages: a sign that it works. A hub that has ended
  /// does not call.
  package func whenWorking(_ body: @escaping @Sendable () -> Void) { mailbox.post(.call(body)) }

  /// Hands recorded commits to the hub's thread.
  func post(_ request: PlayRequest) { mailbox.post(.play(request)) }

  /// Blocks the calling thread until the hub has ended.
  /// - Throws: `StoreError` if a failing store ended it. Writes not acknowledged by then are not stored; their
  ///   peers send them to the next hub.
  public func wait() throws(StoreError) {
    while !mailbox.join(timeout: .seconds(3_600)) {}
    if let failure = mailbox.failure { throw failure }
  }
}

extension Hub: InProcessTransport {
  /// Opens an in-process connection for a peer of this process; `Peer` calls it.
  /// - Parameters:
  ///   - deliver: called with each frame, on the hub's thread.
  ///   - ended: called once when the connection has ended.
  public func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection {
    mailbox.open(deliver: deliver, ended: ended)
  }
}

/// One value passed from the hub's thread to the caller of `start`.
private final class HubResult: Sendable {
  private let value: HubLock<Result<[HubAddress], HubError>?> = HubLock(nil)
  private let ready = DispatchSemaphore(value: 0)

  func set(_ result: Result<[HubAddress], HubError>) {
    value.withLock { $0 = result }
    ready.signal()
  }

  func wait() -> Result<[HubAddress], HubError> {
    ready.wait()
    return value.withLock { $0 } ?? .failure(.system("The hub's thread ended without a result"))
  }
}
