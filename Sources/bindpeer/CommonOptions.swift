import ArgumentParser
import BindingPeer
import BindingTerminal

/// The options of every verb.
struct CommonOptions: ParsableArguments {
  @Option(
    name: .customLong("hub"),
    help: """
      The hub: the name of one that was joined, or its address ipc://PATH or tcp://HOST:PORT. Several hubs of one log, \
      separated by commas or each with --hub, are tried at random.
      """)
  var hubs: [String] = []

  @Flag(name: .long, help: "Print JSON, one object per line.")
  var json = false

  @Option(
    name: .customLong("timeout"),
    help: "Time to wait for the hub and its answers, such as 500ms, 5s or 2m. Default: 5s, or 1s if nothing listens.")
  var limit: TimeSpan?

  @Option(name: .long, help: "Name of this peer, which other peers see.")
  var name: String = "shell"

  @Option(
    name: .long,
    help: "File that stores each write until the hub decides it. Writes of earlier runs in it are sent first.")
  var outbox: String?

  @Option(
    name: .long,
    help: """
      File that keeps writes like --outbox, and the last known values: get prints those without a hub, also while \
      another program has the file.
      """)
  var keep: String?

  func validate() throws {
    if keep != nil, outbox != nil { throw ValidationError("--keep does all that --outbox does. Omit --outbox") }
  }

  /// The hubs as named, separated by commas; nil: none is.
  var hub: String? { hubs.isEmpty ? nil : hubs.joined(separator: ",") }

  /// The time limit for the hub and its answers.
  var timeout: TimeSpan { limit ?? TimeSpan(seconds: 5) }

  /// The path of the outbox file, if one is named.
  var outboxPath: String? { keep ?? outbox ?? Terminal.environment("BINDPEER_OUTBOX") }

  /// Joins the hub, or throws that there is none.
  /// - Parameters:
  ///   - patiently: wait the full timeout even if nothing listens.
  ///   - readsLatest: whether models are current only with what an edge's upstream hub has.
  func connect(patiently: Bool = false, readsLatest: Bool = false) async throws(Failure) -> Peer {
    let peer = try makePeer(readsLatest: readsLatest)
    guard await reachesHub(peer, patiently: patiently) else { throw noHub(peer) }
    return peer
  }

  /// Waits for the hub. Without an explicit time limit it gives up early if nothing listens, and nothing appears
  /// within a second.
  func isLive(_ peer: Peer, patiently: Bool = false) async -> Bool {
    guard limit == nil, !patiently, let addresses = try? addresses() else {
      return await peer.whenLive(timeout: timeout.duration)
    }
    // A hub that is restarting is absent for a moment.
    let grace = Duration.milliseconds(350)
    if await peer.whenLive(timeout: grace) { return true }
    let isAbsent = addresses.allSatisfy(\.isCertainlyAbsent)
    if await peer.whenLive(timeout: grace) { return true }
    if isAbsent, addresses.allSatisfy(\.isCertainlyAbsent) { return false }
    return await peer.whenLive(timeout: timeout.duration - grace - grace)
  }

  /// Waits for the hub, and for the outcomes of writes that earlier runs left in the outbox; false without a hub.
  func reachesHub(_ peer: Peer, patiently: Bool = false) async -> Bool {
    let earlier = peer.restored
    guard await isLive(peer, patiently: patiently) else { return false }
    var sent = 0
    for restored in earlier {
      switch await restored.write.outcome(timeout: timeout.duration) {
      case .committed, .unchanged, .superseded: sent += 1
      case let outcome?: Terminal.complain("from the outbox: \(outcome.explanation(of: restored.model))")
      case nil: Terminal.complain("from the outbox: \(restored.model): no outcome yet; the write stays there")
      }
    }
    if sent > 0 { Terminal.complain("from the outbox: \(sent) earlier write\(sent == 1 ? "" : "s") completed") }
    return true
  }

  func makePeer(readsLatest: Bool = false) throws(Failure) -> Peer {
    if let keep { return try makePeer(name, keeping: .file(keep)) }
    let keeping: Peer.Keeping = outboxPath.map { .init(outbox: .file($0)) } ?? .memory
    return try makePeer(name, keeping: keeping, readsLatest: readsLatest)
  }

  /// - Parameter location: where the hub is; nil: where the options say.
  func makePeer(
    _ name: String, at location: HubLocation? = nil, keeping: Peer.Keeping = .memory, readsLatest: Bool = false
  ) throws(Failure) -> Peer {
    var configuration = Peer.Configuration(keeping: keeping)
    configuration.readsLatest = readsLatest
    do throws(PeerError) {
      return try Peer(
        name: name, hub: location ?? self.location, configuration: configuration, logger: Terminal.logger)
    } catch {
      throw Failure(error)
    }
  }

  /// The hub addresses to try.
  func addresses() throws(Failure) -> [HubAddress] {
    do throws(PeerError) { return try location.addresses() } catch { throw Failure(error) }
  }

  private var location: HubLocation { hub.map { HubLocation($0) } ?? .default }

  func noHub(_ peer: Peer) -> Failure {
    if case .stopped(let reason) = peer.status.phase {
      return reason.failure
    }
    if let refusal = peer.status.refusal {
      return Failure(
        .noHub, "The hub at \(peer.status.hub ?? "its address") does not accept this peer now: \(refusal).")
    }
    let named = hub ?? Terminal.environment("BINDPEER_HUB")
    // A hub reads its address from the same variable, and has the same default.
    let isOneAddress = hub.map { $0.contains("://") && !$0.contains(",") } ?? false
    let start = hub.flatMap { isOneAddress ? "bindhub serve --listen \($0)" : nil } ?? "bindhub serve"
    return Failure(
      .noHub,
      """
      No hub answers at \(named.map { excerpt($0) } ?? "\(HubAddress.userDefault) (this user's default)").
      Start one:  \(start)        Or name one:  bindpeer --hub tcp://host:7877 …
      """)
  }
}

extension Failure {
  /// Why a peer cannot be created.
  init(_ error: PeerError) {
    switch error {
    case .address: self.init(.usage, "\(error)")
    case .keys: self.init(.refusedConfiguration, "\(error)")
    case .outbox: self.init(.cannotCreate, "\(error)")
    }
  }
}

extension StopReason {
  var failure: Failure {
    if case .otherProtocol = self { Failure(.otherProtocol, words) } else { Failure(.conflict, words) }
  }

  /// Why the hub has permanently ended a session, and the remedy.
  var words: String {
    switch self {
    case .fenced: "The hub ended this session: another process uses this peer's identity."
    case .notYours: "The hub ended this session: this peer's tag is registered with another secret. Start again."
    case .otherProtocol(let text): "The hub speaks another protocol: \(text)"
    case .closed: "This peer was closed."
    }
  }
}
