import ArgumentParser
import BindingEdge
import BindingHub
import BindingKeys
import BindingPeer
import BindingProtocol
import BindingStore
import BindingTerminal
import BindingWeb
import Foundation
import Logging

/// Runs a hub until it is asked to stop.
struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a hub. Without options, it serves this user on this machine.")

  @Option(
    help: ArgumentHelp(
      "File with options, one a line, such as: listen = tcp://0.0.0.0:7877. The command line and the environment count "
        + "before it; 'bindhub config' tells where each option comes from.", valueName: "file"))
  var config: String?

  @Option(
    name: .long,
    help: """
      Address to listen on: ipc://PATH or tcp://HOST:PORT (the next port is used too), or 'local' for this user's \
      default address. Repeatable. tcp:// is encrypted and for members only, once there are keys. Default: \
      $BINDPEER_HUB, else this user's default address.
      """)
  var listen: [String] = []

  @OptionGroup var keysChoice: KeysChoice

  @OptionGroup var storeChoice: StoreChoice

  @OptionGroup var etcdChoice: EtcdChoice

  @OptionGroup var webChoice: WebChoice

  @Option(
    name: .long,
    help: """
      Follow another hub instead of keeping a log: an edge. Its peers read here; their writes go to that hub, at \
      ipc://PATH, tcp://HOST:PORT, or the name of a hub that this user has joined. Several hubs of one log are \
      separated by commas.
      """)
  var upstream: String?

  @OptionGroup var siblings: Siblings

  @Option(
    help: "What a published commit survives: 'process' the end of the hub, 'disk' also a power loss, 'memory' neither.")
  var durability: Grade?

  @Option(name: .long, help: "Display name of the hub.")
  var name = "hub"

  @OptionGroup var intervals: PeerIntervals

  @Flag(
    name: [.customLong("no-recovery"), .customLong("no-rescue")],
    help: "Do not ask peers for commits that a restarted hub lacks.")
  var noRecovery = false

  @Flag(
    name: .long,
    help: """
      Allow other machines to connect to tcp:// without keys, and to --web without encryption. Any client may read and \
      write.
      """)
  var insecure = false

  @Flag(
    name: .customLong("exit-with-stdin"),
    help: "Stop when standard input ends, for a hub that runs as a child process.")
  var exitsWithStandardInput = false

  @Option(name: .customLong("log"), help: "Log level: trace, debug, info, warning or error.")
  var level = "info"

  func validate() throws {
    if upstream != nil, storeChoice.store != nil || durability != nil || noRecovery {
      throw ValidationError(
        "--upstream has no log of its own: omit --store, --durability and --no-recovery; its upstream hub has them")
    }
    if Logger.Level(rawValue: level) == nil {
      throw ValidationError("--log must be trace, debug, info, warning or error, not \(level)")
    }
    if insecure, keysChoice.directory != nil { throw ValidationError("--insecure ignores --keys. Omit one") }
    if storeChoice.store == "" { throw ValidationError("--store needs a file or 'memory'") }
    if storeChoice.etcd == nil, !etcdChoice.isEmpty {
      throw ValidationError("--etcd-… options need --store etcd://HOST:PORT,…/PREFIX")
    }
    if let address = storeChoice.etcd, durability != nil || noRecovery {
      throw ValidationError(
        "--store \(address): omit --durability and --no-recovery; etcd keeps the log, and 'bindhub status' tells how")
    }
    if let durability, durability == .memory, let store = storeChoice.store, store != "memory" {
      throw ValidationError("--durability memory cannot be combined with --store \(store). Omit one")
    }
    if let durability, durability != .memory, storeChoice.store == "memory" {
      throw ValidationError("--store memory cannot be combined with --durability \(durability.rawValue). Omit one")
    }
  }

  func run() throws {
    let signals = StopSignals()
    var configuration = Hub.Configuration()
    configuration.name = name
    configuration.heartbeat = .milliseconds(intervals.heartbeat)
    configuration.lease = .milliseconds(intervals.lease)
    configuration.isRecoveryOn = !noRecovery
    configuration.isInsecureAllowed = insecure
    do throws(HubAddressError) {
      configuration.listen = try addresses()
    } catch {
      fail("\(error)", 64)
    }
    configuration.keys = keysDirectory(for: configuration.listen)
    configuration.otherHubs = siblings.addresses(besides: configuration.listen)
    let log = logger
    chooseLog(of: &configuration, log)
    var web = webChoice.configuration(
      isInsecureAllowed: insecure, keyPath: storeChoice.webKeyPath(for: configuration.listen.first))
    web?.keys = configuration.keys
    let ending = Ending()
    let keys = configuration.keys.map(HubKeys.init(in:))
    let pages = Held<WebGateway?>(nil)
    let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
    signals.forward(to: ending, log) {
      notifier.reload {
        _ = try? keys?.requestAccess()
        // Its log tells the outcome.
        try? pages.withLock { $0 }?.reloadCertificate()
      }
    }
    if insecure, keysChoice.keys.haveAccess {
      log.warning(
        "the rights do not count", metadata: ["file": "\(keysChoice.keys.accessPath)", "because": "--insecure"])
    }
    do throws(HubError) {
      OpenFiles.raise()
      let hub = try Hub(configuration: configuration, logger: log)
      try hub.start()
      Serve.endWaiting(configuration, at: storeChoice.path(for: configuration.listen.first), log)
      let gateway = Serve.serve(hub, web, log)
      pages.withLock { $0 = gateway }
      announce(hub, gateway)
      notifier.isReady("listening at \(hub.addresses.map(\.description).joined(separator: ", "))")
      notifier.feedWatchdog(hub.whenWorking)
      ending.follow(hub)
      if exitsWithStandardInput { ending.followStandardInput() }
      let reason = ending.wait()
      notifier.isStopping(reason.text ?? "stopping")
      gateway?.stop()
      hub.stop()
      if let text = reason.text { fail(text, reason.code) }
      Foundation.exit(reason.code)
    } catch {
      let isFromEnvironment = listen.isEmpty && configuration.listen.first != .userDefault
      let source =
        isFromEnvironment ? "\nThe address is from BINDPEER_HUB. To use another:  bindhub serve --listen …" : ""
      fail(error.description + source, error.exitCode)
    }
  }

  /// Where its commits are kept: by the hub that it follows, in etcd, or in a file.
  private func chooseLog(of configuration: inout Hub.Configuration, _ log: Logger) {
    if let upstream {
      do throws(PeerError) {
        configuration.upstream = try EdgeUplink.upstream(of: HubLocation(upstream), name: name, log: log)
      } catch {
        fail("\(error)", 64)
      }
    } else if let address = storeChoice.etcd {
      configuration.store = etcdChoice.store(at: address)
      configuration.siblings = siblings.links(
        to: configuration.otherHubs, keys: configuration.keys, name: name, log: log)
    } else if durability != .memory, let path = storeChoice.path(for: configuration.listen.first) {
      let grade: Durability = durability == .disk ? .disk : .process
      configuration.store = .sqlite(at: path, durability: grade)
      configuration.recreatedWait = .milliseconds(Int64(clamping: RecoveryWait.read(at: path)))
    }
  }

  private var logger: Logger {
    var log = Logger(label: "bindhub") { StreamLogHandler.standardError(label: $0) }
    log.logLevel = Logger.Level(rawValue: level) ?? .info
    return log
  }

  /// The addresses to listen on: those given, else the one that this user's peers try first.
  func addresses() throws(HubAddressError) -> [HubAddress] {
    guard listen.isEmpty else {
      return try listen.map { text throws(HubAddressError) in
        text == "local" ? .userDefault : try HubAddress(text)
      }
    }
    return Array(try HubAddress.fromEnvironment().prefix(1))
  }

  /// The directory of the keys for tcp addresses: the named one, else this user's if it has keys.
  func keysDirectory(for addresses: [HubAddress]) -> String? {
    guard !insecure else { return nil }
    let keys = keysChoice.keys
    guard keysChoice.directory == nil else { return keys.directory }
    // Rights count over ipc too, and pages are for members.
    let isNeeded = addresses.contains { $0.transport == .tcp } || keys.haveAccess || webChoice.web != nil
    guard keys.exist, isNeeded else { return nil }
    return keys.directory
  }

  /// After a recovery the hub waits for its peers once.
  private static func endWaiting(_ configuration: Hub.Configuration, at path: String?, _ log: Logger) {
    let wait = Double(configuration.recreatedWait / .milliseconds(1)) / 1_000
    guard let path, wait > 0 else { return }
    log.notice("the store was recreated: models without values wait \(wait) s for the replicas of peers")
    DispatchQueue.global().asyncAfter(deadline: .now() + wait) { RecoveryWait.remove(at: path) }
  }

  /// Serves pages. If they cannot be served the hub does not run either.
  private static func serve(_ hub: Hub, _ configuration: WebGateway.Configuration?, _ log: Logger) -> WebGateway? {
    guard let configuration else { return nil }
    let gateway = WebGateway(hub: hub, configuration: configuration, logger: log)
    do throws(WebError) {
      try gateway.start()
    } catch {
      hub.stop()
      fail(error.description, error.exitCode)
    }
    return gateway
  }

  /// Prints one line per address on standard output, where a script that asked for any free port reads the chosen
  /// one. Omitted on a terminal that shows the log, which contains the addresses.
  private func announce(_ hub: Hub, _ gateway: WebGateway?) {
    let isLogged =
      ["trace", "debug", "info"].contains(level) && isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1
    let listening = isLogged ? [] : hub.addresses.map { "listening \($0)\n" }
    let lines = listening + (gateway.map { ["web \($0.url)\n"] } ?? [])
    // A hub that cannot print its addresses still serves peers that know them.
    if let code = StandardStreams.write(Array(lines.joined().utf8), to: STDOUT_FILENO) {
      StandardStreams.complain("Cannot print the hub's addresses: \(StandardStreams.words(code)).")
    }
    if gateway?.token != nil, isatty(STDOUT_FILENO) == 1 {
      StandardStreams.complain("Open the address once, within five minutes. To get another:  bindhub web")
    }
  }
}

/// A value shared by several threads.
final class Held<Value>: @unchecked Sendable {  // SAFETY: `value` is accessed only while `lock` is held
  private var value: Value
  private let lock = NSLock()

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&value)
  }
}

extension HubError {
  /// The exit code for scripts (EX_CANTCREAT, EX_CONFIG, EX_SOFTWARE of sysexits).
  var exitCode: Int32 {
    switch self {
    case .addressInUse, .portInUse, .directory, .cannotListen: 73
    case .notLoopback, .openFiles, .keys, .selfTest: 78
    case .store(let error): error.exitCode
    case .system: 70
    }
  }
}

extension StoreError {
  /// The exit code for scripts (EX_CANTCREAT, EX_IOERR, EX_SOFTWARE of sysexits).
  var exitCode: Int32 {
    switch kind {
    case .inUse, .cannotOpen: 73
    case .damaged, .newer, .failed, .gone, .replaced: 74
    case .syncFailed: 70
    }
  }
}
