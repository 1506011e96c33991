public import BindingProtocol
import Dispatch
public import Logging
import ZeroMQ

/// A running hub: it orders, keeps and relays the commits of all models.
///
/// `start` binds the addresses and starts one thread that owns sockets, machine and store; everything else here is
/// safe on any thread.
public final class Hub: Sendable {
  public let options: HubOptions
  private let mailbox: HubMailbox
  private let log: Logger

  public init(options: HubOptions = HubOptions(), log: Logger = Logger(label: "bindhub")) throws(HubFailure) {
    self.options = options
    self.log = log
    do throws(ZeroMQError) {
      mailbox = try HubMailbox()
    } catch {
      throw .system("cannot start: \(error)")
    }
  }

  /// A started hub in memory and without an address, for peers of the same process. A program's own tests need no
  /// server with it:
  /// ```swift
  /// let hub = try Hub.embedded()
  /// let app = Peer(name: "app", hub: hub), other = Peer(name: "other", hub: hub)
  /// let mine = try await app.share(Lamp.self, id: "lamp", on: .direct)
  /// let theirs = try await other.share(Lamp.self, id: "lamp", on: .direct)
  /// try await mine.applied(try await mine.$level.write(0.8).committed, by: .all, timeout: .seconds(2))
  /// assert(theirs.level == 0.8)
  /// ```
  public static func embedded(name: String = "embedded") throws(HubFailure) -> Hub {
    var options = HubOptions()
    options.name = name
    options.listen = []
    let hub = try Hub(options: options, log: Logger(label: "bindhub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
    return hub
  }

  /// Binds and serves.
  /// - Throws: `HubFailure` naming what is in the way and what to do; nothing is left bound then.
  public func start() throws(HubFailure) {
    let result = HubResult()
    let (options, mailbox, log) = (options, mailbox, log)
    do throws(ZeroMQError) {
      let thread = try SocketThread(name: "bindhub") {
        do throws(HubFailure) {
          mailbox.markEnded(try Hub.run(options, mailbox, log, result))
        } catch {
          result.set(.failure(error))
          mailbox.markEnded(StoreError(error.description))
        }
      }
      mailbox.setThread(thread)
    } catch {
      throw .system("cannot start a thread: \(error)")
    }
    mailbox.setAddresses(try result.wait().get())
  }

  /// Serves until it is stopped, with its store opened again as often as that is put back to a backup.
  /// - Returns: what the store failed with.
  private static func run(
    _ options: HubOptions, _ mailbox: HubMailbox, _ log: Logger, _ result: HubResult
  ) throws(HubFailure) -> StoreError? {
    var options = options
    while true {
      let loop = try HubLoop(options: options, mailbox: mailbox, log: log)
      result.set(.success(loop.addresses))
      // At the very same places, whichever ports were picked.
      options.listen = loop.addresses
      switch loop.run() {
      case .stopped: return nil
      case .failed(let error): return error
      case .again: continue
      }
    }
  }

  /// The addresses on which this hub listens, with the ports that were picked for `*`.
  public var addresses: [HubAddress] { mailbox.addresses }

  /// Tells all sessions that the hub is going, sends what is decided, and ends. Returns when the thread has ended, or
  /// after `limitMilliseconds`.
  @discardableResult
  public func stop(limitMilliseconds: Int = 5_000) -> Bool { mailbox.stop(limitMilliseconds: limitMilliseconds) }

  /// Waits until the hub has ended.
  /// - Throws: `StoreError` if it ended because its store could not go on: what was not acknowledged by then was not
  ///   stored, and its peers send it again to the next hub.
  public func wait() throws(StoreError) {
    while !mailbox.join(limitMilliseconds: 3_600_000) {}
    if let failure = mailbox.failure { throw failure }
  }
}

extension Hub: InProcessTransport {
  public func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection {
    mailbox.open(deliver: deliver, ended: ended)
  }
}

/// What a hub is started with.
public struct HubOptions: Sendable {
  public var name = "hub"
  /// Where to listen. `tcp` beyond loopback is refused unless `isInsecureAllowed`.
  public var listen: [HubAddress] = [.userDefault]
  /// Lets everyone who reaches the port read and write. There are no keys yet.
  public var isInsecureAllowed = false
  /// Between two heartbeats, milliseconds, 250 to 5,000.
  public var heartbeatMilliseconds: UInt32 = 1_000
  /// How long a session lives without being heard of, when its peer does not ask for another time.
  public var leaseMilliseconds: UInt32 = 10_000
  /// Whether peers are asked for what a restarted hub lacks.
  public var isRecoveryOn = true
  /// Opens where commits are kept, on the hub's thread; nil: they live as long as the hub.
  public var store: (@Sendable () throws(StoreError) -> any Store)?
  /// A file to which every commit is written once it is stored, before it is published
  /// (`docs/reference/history-format.md`).
  public var historyPath: String?
  public var limits = Limits()

  public init() {}
}

/// One value handed from the hub's thread to who started it.
private final class HubResult: Sendable {
  private let value: HubLock<Result<[HubAddress], HubFailure>?> = HubLock(nil)
  private let ready = DispatchSemaphore(value: 0)

  func set(_ result: Result<[HubAddress], HubFailure>) {
    value.withLock { $0 = result }
    ready.signal()
  }

  func wait() -> Result<[HubAddress], HubFailure> {
    ready.wait()
    return value.withLock { $0 } ?? .failure(.system("the hub's thread said nothing"))
  }
}
