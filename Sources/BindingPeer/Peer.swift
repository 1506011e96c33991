public import BindingModel
public import BindingWire
import Foundation
public import Logging

/// A process's membership: it finds the hub, holds replicas of the models that were shared, and writes to them.
///
/// A peer works before there is a hub: what is written shows at once, waits, and is sent when a hub is there. It stays
/// connected by itself, to the first of its addresses that answers. It ends with `close`, or when neither it nor any
/// of its models is held any more.
public final class Peer: Sendable {
  /// What people see in logs and lists; need not be unique.
  public let name: String
  let runtime: PeerRuntime
  private let identity: Identity

  /// - Parameters:
  ///   - name: 1 to 64 bytes; longer ones are cut.
  ///   - hubs: where to look, in order; nil: `BINDPEER_HUB`, else this user's default.
  ///   - options: times and bounds; the defaults serve.
  /// - Throws: `HubAddressError` if `BINDPEER_HUB` holds something else than addresses.
  public convenience init(
    name: String? = nil, hubs: [HubAddress]? = nil, options: SessionOptions = SessionOptions(),
    log: Logger = Logger(label: "bindpeer")
  ) throws(HubAddressError) {
    let addresses = if let hubs { hubs } else { try HubAddress.fromEnvironment() }
    self.init(name: name, link: ZeroMQPeerLink(addresses: addresses), options: options, log: log)
  }

  /// A peer of a hub in the same process, without a socket: for tests and examples.
  public convenience init(
    name: String? = nil, hub: any HubDoor, options: SessionOptions = SessionOptions(),
    log: Logger = Logger(label: "bindpeer")
  ) {
    self.init(name: name, link: InProcessPeerLink(door: hub), options: options, log: log)
  }

  init(name: String?, link: any PeerLink, options: SessionOptions, log: Logger) {
    var random = SystemRandomNumberGenerator()
    self.name = Peer.fitting(name ?? ProcessInfo.processInfo.processName)
    identity = Identity(
      tag: Tag(rawValue: random.next()), secret: Secret(high: random.next(), low: random.next()), name: self.name)
    let session = Session(identity: identity, seed: random.next(), options: options, now: PeerRuntime.now)
    runtime = PeerRuntime(session: session, link: link, log: log)
    link.start(runtime)
  }

  deinit { runtime.abandonPeer() }

  /// The tag under which this peer writes: new at every start.
  public var tag: Tag { identity.tag }

  /// How this peer stands to its hub.
  public var status: PeerStatus { runtime.state.withLock { $0.peerStatus } }

  /// Writes without an outcome, of all models.
  public var unconfirmed: Int { runtime.state.withLock { $0.session.unconfirmed } }

  /// What was received, dropped, repaired and sent again since the start.
  public var counters: SessionCounters { runtime.state.withLock { $0.session.counters } }

  /// Hears the status now and at each change, on the thread that changed it: do not wait in it.
  public func observeStatus(_ body: @escaping @Sendable (PeerStatus) -> Void) -> ObserverToken {
    runtime.status.observe(body)
  }

  /// Waits until a hub has welcomed this peer; false when `limit` passes first.
  public func whenLive(within limit: Duration) async -> Bool {
    await runtime.wait(atMost: limit) { $0.session.phase == .live }
  }

  /// The model of that id without types, joined from now on. The same object for the same id as long as somebody holds
  /// it.
  /// - Parameter lane: where its observers run, when this is the first use of the model.
  /// - Throws: `WireError` if the id is not a model's.
  public func model(_ id: String, on lane: Lane = .direct) throws(WireError) -> SharedModel {
    try Names.checkModel(id)
    let fresh = SharedModel(id: id, lane: lane, peer: self)
    return runtime.perform { state, now in
      if let present = state.models[id]?.model { return present }
      state.models[id] = .init(model: fresh)
      state.session.join(id, now: now, into: &state.output)
      return fresh
    }
  }

  /// Ends this peer.
  /// - Parameter flush: how long to wait for the outcomes of what was written.
  /// - Returns: the fields of writes that had none by then, as `model.field`.
  @discardableResult
  public func close(flush: Duration = .seconds(2)) async -> [String] {
    _ = await runtime.wait(atMost: flush) { $0.session.unconfirmed == 0 || $0.session.phase.isStopped }
    return runtime.end()
  }

  private static func fitting(_ name: String) -> String {
    var name = name.isEmpty ? "peer" : name
    while name.utf8.count > 64 { name.removeLast() }
    return name
  }
}

extension PeerRuntime {
  /// Says good-bye, ends every write without an outcome as unknown, and lets the link go. Harmless when repeated.
  @discardableResult
  func end() -> [String] {
    let left = perform { state, now in
      if !state.session.phase.isStopped { state.session.bye(now: now, into: &state.output) }
      let left = state.writes.values
      state.writes.removeAll()
      return Array(left)
    }
    for undecided in left { undecided.write.settle(.unknown("the peer was closed first")) }
    return left.flatMap { undecided in undecided.write.fields.map { "\(undecided.model.id).\($0)" } }.sorted()
  }
}

extension Phase {
  var isStopped: Bool {
    if case .stopped = self { true } else { false }
  }
}
