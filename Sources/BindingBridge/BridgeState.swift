import BindingModel
import BindingPeer
import BindingProtocol
import Logging
import NIOCore

/// All that changes of a bridge, on its event loop.
final class BridgeState {
  private static let longestPauseMilliseconds: Int64 = 5_000

  private let configuration: MQTTBridge.Configuration
  private let peer: Peer
  private let logger: Logger
  private let loop: any EventLoop
  private(set) var machine: MQTTBridgeMachine
  private var connection: MQTTConnection?
  private var isClosed = false
  private var isOpen = false
  /// Connections in a row that came to nothing.
  private var failures = 0
  private var lastProblem = ""
  /// Models that are followed, with the version up to which the machine knows them.
  private var followed: [String: Followed] = [:]
  private var tokens: [ObserverToken] = []

  private struct Followed {
    let model: SharedModel
    let token: ObserverToken
    var seen: (epoch: Epoch, version: Version) = (0, 0)
  }

  init(_ configuration: MQTTBridge.Configuration, _ peer: Peer, _ logger: Logger, _ loop: any EventLoop) {
    (self.configuration, self.peer, self.logger, self.loop) = (configuration, peer, logger, loop)
    let home = configuration.home.map { HomeAssistant(prefix: $0, topics: configuration.topics) }
    machine = MQTTBridgeMachine(topics: configuration.topics, models: configuration.models, home: home)
  }

  func start() {
    followHub()
    connect()
  }

  var hasSaidGoodbye: Bool { !isOpen || machine.isSettled }

  func beginClosing() {
    machine.close()
    carryOut()
  }

  func close() {
    isClosed = true
    for token in tokens { token.cancel() }
    for (_, each) in followed { each.token.cancel() }
    followed.removeAll()
    connection?.close()
  }

  // MARK: The broker

  private func connect() {
    guard !isClosed else { return }
    let filters = [configuration.topics.all] + (machine.home.map { [$0.all] } ?? [])
    let machine = machine
    let scan = RetainedScan(filters) { machine.isOwn($0) }
    connection = scan.begin(configuration, on: loop) { [self] found in
      connection = nil
      switch found {
      case .success(let retained): enter(retained)
      case .failure(let error): fail(error.description)
      }
    }
  }

  private func enter(_ retained: [String: [UInt8]]) {
    guard !isClosed else { return }
    var connect = configuration.connect(as: configuration.client)
    connect.will = MQTTMessage(configuration.topics.availability, Array("offline".utf8), isRetained: true)
    connection = MQTTConnection.open(
      configuration.broker, connect, trusting: configuration.authorities, on: loop
    ) { [self] event in
      switch event {
      case .opened(let hasSession):
        (isOpen, failures, lastProblem) = (true, 0, "")
        logger.info("connected", metadata: ["broker": "\(configuration.broker)"])
        machine.connected(hasSession: hasSession, retained: retained)
      case .packet(.subscribed(_, let codes)) where codes.contains(0x80):
        let topics = configuration.topics.all
        logger.error("the broker does not let this client receive what is set", metadata: ["topics": "\(topics)"])
      case .packet(let packet): machine.received(packet)
      case .closed(let reason):
        connection = nil
        isOpen = false
        machine.lost()
        fail(reason)
      }
      carryOut()
    }
  }

  /// Tries again, later after each failure.
  private func fail(_ reason: String) {
    guard !isClosed else { return }
    if failures == 0 || reason != lastProblem {
      logger.warning("no broker: \(reason)", metadata: ["broker": "\(configuration.broker)"])
    }
    lastProblem = reason
    failures += 1
    let most = min(BridgeState.longestPauseMilliseconds, 100 << min(failures, 6))
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(.random(in: most / 2...most))) { bound.value.connect() }
  }

  private func carryOut() {
    for effect in machine.takeEffects() {
      switch effect {
      case .send(let packet): connection?.send(packet)
      case .write(let number, let id, let field, let value): write(number, id, field, value)
      }
    }
  }

  // MARK: The hub

  private func followHub() {
    let bound = NIOLoopBound(self, eventLoop: loop)
    let (loop, peer, selection) = (loop, peer, ModelSelection(configuration.models))
    for id in selection.ids { follow(id) }
    for prefix in selection.prefixes {
      let token = try? peer.models(under: prefix) { id in loop.execute { bound.value.follow(id) } }
      if let token { tokens.append(token) }
    }
    tokens.append(
      peer.statuses.observe { status in
        loop.execute { bound.value.hub(isLive: status.phase == .live) }
      })
    // Old states are removed once every model that there is has been told.
    Task {
      let ids = await BridgeState.models(of: peer, selection)
      loop.execute { bound.value.complete(ids) }
    }
  }

  /// All models that are to be bridged, once they are current here.
  private static func models(of peer: Peer, _ selection: ModelSelection) async -> Set<String> {
    var ids = Set(selection.ids)
    for prefix in selection.prefixes {
      var listed: [ModelListing]?
      while listed == nil, peer.isGoingOn { listed = await peer.list(prefix, timeout: .seconds(10)) }
      ids.formUnion((listed ?? []).map(\.id))
    }
    for id in ids where peer.isGoingOn {
      guard let model = try? peer.model(id, on: .direct) else { continue }
      while await !model.whenCurrent(timeout: .seconds(10)), model.status.refusal == nil, peer.isGoingOn {}
    }
    return ids
  }

  private func hub(isLive: Bool) {
    machine.hub(isLive: isLive)
    carryOut()
  }

  private func complete(_ ids: Set<String>) {
    for id in ids {
      follow(id)
      look(at: id)
    }
    machine.complete()
    carryOut()
  }

  private func follow(_ id: String) {
    guard !isClosed, followed[id] == nil, let model = try? peer.model(id, on: .direct) else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    let loop = loop
    let token = model.observe { _, _ in loop.execute { bound.value.look(at: id) } }
    followed[id] = Followed(model: model, token: token)
    look(at: id)
  }

  /// Takes over what has been committed since.
  private func look(at id: String) {
    guard let known = followed[id], known.model.isCurrent,
      let committed = known.model.committed(after: known.seen.version, in: known.seen.epoch)
    else { return }
    let (model, seen) = (known.model, known.seen)
    followed[id]?.seen = (committed.epoch, committed.version)
    var fields = committed.fields.map { MQTTBridgeMachine.Field($0.name, $0.value) }
    if committed.epoch != seen.epoch {
      // In a new epoch what is not told is not there.
      let present = Set(fields.map(\.name))
      fields += machine.fields(of: id).subtracting(present).sorted().map { MQTTBridgeMachine.Field($0, nil) }
    }
    machine.update(id, fields, model.modelDescription)
    carryOut()
  }

  private func write(_ number: Int, _ id: String, _ field: String, _ value: FieldValue) {
    let bound = NIOLoopBound(self, eventLoop: loop)
    let loop = loop
    guard let model = followed[id]?.model else { return decided(number, id, field, "\(id) is not there any more") }
    do throws(WriteError) {
      let write = try model.write(Proposal(operations: [FieldOperation(.set, field, value)]))
      Task {
        let outcome = await write.outcome
        loop.execute { bound.value.decided(number, id, field, outcome.problem(of: field)) }
      }
    } catch {
      decided(number, id, field, "\(error)")
    }
  }

  private func decided(_ number: Int, _ id: String, _ field: String, _ problem: String?) {
    if let problem { logger.notice("not written: \(problem)", metadata: ["model": "\(id)", "field": "\(field)"]) }
    machine.decided(number, id, field, problem: problem)
    carryOut()
  }
}

extension Outcome {
  /// Why it was not applied; nil: it was, or had nothing to change.
  fileprivate func problem(of field: String) -> String? {
    switch self {
    case .committed, .unchanged, .superseded: nil
    case .refused, .conflict, .expired, .unknown: explanation(of: field)
    }
  }
}

extension Peer {
  /// Whether it may still reach a hub.
  fileprivate var isGoingOn: Bool { if case .stopped = status.phase { false } else { true } }
}
