import BindingHub
import BindingProtocol
import Testing

/// A hub's machine without sockets: the test sends peers' messages, chooses when and how the store answers, and
/// reads the hub's frames.
struct HubBench {
  static let lamp: Topic = Topics.firstModel
  static let epoch: Epoch = 5 << 32 | 9
  /// The previous epoch.
  static let oldEpoch: Epoch = 4 << 32 | 3
  static let start: StartNumber = 77

  enum Settling {
    /// Decisions are stored, and the results returned, within the drain.
    case atOnce
    /// Batches wait in `waiting` until the test settles them.
    case later
  }

  private(set) var machine: HubMachine
  let store: any Store
  var settling = Settling.atOnce
  /// Batches that the machine has sent to the store without an answer so far.
  private(set) var waiting: [Batch] = []
  /// Whether catch-ups are sent to their end, rather than one share.
  var sendsAll = true
  /// The pages of history that the machine has asked for, and whether they are read within the drain.
  private(set) var queries: [HistoryQuery] = []
  var readsHistory = true
  var now: UInt64 = 1_000
  private var readers: UInt64 = 0

  init(
    tailProven: Bool = true, store: any Store = LogStore(), stored: [StoredModel] = [], epoch: Epoch = Self.epoch,
    _ configure: (inout HubMachineConfiguration) -> Void = { _ in }
  ) {
    var configuration = HubMachineConfiguration()
    configuration.heartbeatMilliseconds = 1_000
    configure(&configuration)
    let birth = HubBirth(logID: 3, epoch: epoch, start: Self.start, tailProven: tailProven, floor: store.floor)
    self.store = store
    machine = HubMachine(
      configuration: configuration, birth: birth, time: HubTime(monotonic: 1_000, wall: 500_000), epochSeed: 11)
    for model in stored {
      do { try machine.restore(model) } catch { Issue.record("\(error)") }
    }
  }

  var time: HubTime { HubTime(monotonic: now, wall: 499_000 + now) }
  var counters: HubCounters { machine.counters }

  /// Runs `body` on the machine, ends the drain, stores what was decided, and returns the results to the machine.
  @discardableResult
  mutating func act(_ body: (inout HubMachine, HubTime, inout HubOutput) -> Void) -> Received {
    var output = HubOutput()
    body(&machine, time, &output)
    machine.finishDrain(time: time, into: &output)
    while !output.batches.isEmpty {
      waiting += output.batches
      output.batches.removeAll()
      guard settling == .atOnce else { break }
      let batches = waiting
      waiting.removeAll()
      do {
        machine.appended(try store.append(batches), of: batches, time: time, into: &output)
      } catch {
        Issue.record("the store failed: \(error)")
      }
    }
    readHistory(&output)
    while sendsAll, machine.isStreaming {
      machine.finishDrain(time: time, into: &output)
      readHistory(&output)
    }
    return Received(output)
  }

  /// Reads the page of history that the machine wants, unless the test reads it later.
  private mutating func readHistory(_ output: inout HubOutput) {
    guard let query = output.history else { return }
    output.history = nil
    queries.append(query)
    if readsHistory { machine.answered(query, store.history(query).result, into: &output) }
  }

  /// Gives the machine the page that it asked for last.
  @discardableResult
  mutating func answerHistory() -> Received {
    guard let query = queries.last else { return Received(HubOutput()) }
    return act { [store] machine, _, output in
      machine.answered(query, store.history(query).result, into: &output)
    }
  }

  /// Gives the machine the results of the waiting batches.
  @discardableResult
  mutating func settle(_ results: Appended...) -> Received {
    let batches = waiting
    waiting.removeAll()
    #expect(results.count == batches.count, "as many results as batches")
    return act { machine, time, output in machine.appended(results, of: batches, time: time, into: &output) }
  }

  /// Stores the waiting batches and gives the machine the results.
  @discardableResult
  mutating func settleWithStore() throws -> Received {
    let batches = waiting
    waiting.removeAll()
    let results = try store.append(batches)
    return act { machine, time, output in machine.appended(results, of: batches, time: time, into: &output) }
  }

  @discardableResult
  mutating func reload(_ model: StoredModel) -> Received {
    act { machine, time, output in machine.reloaded(model, time: time, into: &output) }
  }

  // MARK: Input

  /// One drain in which these frames arrive from one connection.
  @discardableResult
  mutating func deliver(_ frames: [[UInt8]], on connection: ConnectionID) -> Received {
    act { machine, time, output in
      for frame in frames {
        frame.withUnsafeBytes { machine.receive($0, on: connection, time: time, into: &output) }
      }
    }
  }

  /// One drain with these messages of one peer.
  @discardableResult
  mutating func send(_ peer: Speaker, _ messages: PeerMessage...) -> Received {
    deliver(messages.map(peer.frame), on: peer.connection)
  }

  /// One drain with one message of each of several peers, in this order.
  @discardableResult
  mutating func together(_ sent: [(peer: Speaker, message: PeerMessage)]) -> Received {
    act { machine, time, output in
      for (peer, message) in sent {
        peer.frame(message).withUnsafeBytes {
          machine.receive($0, on: peer.connection, time: time, into: &output)
        }
      }
    }
  }

  /// A publish connection subscribes.
  @discardableResult
  mutating func subscribe(_ peer: Speaker, _ topics: [UInt8]...) -> Received {
    act { machine, time, output in
      for topic in topics {
        topic.withUnsafeBytes { machine.subscribed($0, by: peer.subscriber, time: time, into: &output) }
      }
    }
  }

  @discardableResult
  mutating func unsubscribe(_ peer: Speaker, _ topic: [UInt8]) -> Received {
    act { machine, time, output in
      topic.withUnsafeBytes { machine.unsubscribed($0, by: peer.subscriber, time: time, into: &output) }
    }
  }

  /// Advances the time and ticks the machine.
  @discardableResult
  mutating func wait(_ milliseconds: UInt64) -> Received {
    now += milliseconds
    return act { machine, time, output in machine.tick(time: time, into: &output) }
  }

  @discardableResult
  mutating func close(_ connection: ConnectionID) -> Received {
    act { machine, time, output in machine.closed(connection, time: time, into: &output) }
  }

  // MARK: Shorthands

  /// A hello, and the subscriptions that every peer makes.
  @discardableResult
  mutating func hello(
    _ peer: Speaker, lease: UInt32 = 60_000, reportsEarlier: Bool = false, knowsLists: Bool = true
  ) -> Received {
    let capabilities =
      [Capability.users, Capability.history] + (reportsEarlier ? [Capability.recovery] : [])
      + (knowsLists ? [Capability.lists] : [])
    let hello = Hello(identity: peer.identity, leaseMilliseconds: lease, capabilities: capabilities)
    let received = send(peer, .hello(hello))
    subscribe(peer, Topics.sessionTopic(peer.session), Topics.bytes(Topics.heartbeat))
    return received
  }

  /// Says hello, joins `lamp` with nothing, and subscribes.
  @discardableResult
  mutating func live(_ peer: Speaker, model: String = "lamp", topic: Topic = HubBench.lamp) -> Received {
    hello(peer) + join(peer, Join(request: 1, model: model), topic: topic)
  }

  /// Joins and subscribes; returns the frames of both drains.
  @discardableResult
  mutating func join(_ peer: Speaker, _ join: Join, topic: Topic = HubBench.lamp) -> Received {
    send(peer, .join([join])) + subscribe(peer, Topics.bytes(topic))
  }

  /// Proposes in one drain, each under its own number; returns the outcomes by number.
  @discardableResult
  mutating func propose(_ peer: Speaker, _ proposals: NumberedProposal...) -> [ProposalNumber: WireOutcome.Rest] {
    send(peer, .propose(proposals)).outcomes(peer)
  }

  /// Proposes once and returns the outcome; nil if there is none yet.
  @discardableResult
  mutating func write(_ peer: Speaker, _ number: ProposalNumber, _ operations: WireOperation...) -> WireOutcome.Rest? {
    propose(peer, .of(number, operations))[number]
  }

  /// The model as a new peer sees it, checked against its digest.
  mutating func read(_ model: String = "lamp", topic: Topic = HubBench.lamp) -> ReadModel {
    readers += 1
    let reader = Speaker(900_000 + readers, "reader")
    let mode = settling
    settling = .atOnce
    defer { settling = mode }
    let received = live(reader, model: model, topic: topic)
    send(reader, .leave(Leave()))
    return ReadModel(received, for: reader)
  }
}
