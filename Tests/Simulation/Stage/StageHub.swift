package import BindingHub
package import BindingPeer
package import BindingProtocol

/// A hub's machine with a store that outlives it.
package final class StageHub {
  package internal(set) var machine: HubMachine
  private let store: MemoryStore
  private var birth: HubBirth
  private let configuration: HubMachineConfiguration
  private let siblings: Int
  /// What was stored, by model; it outlives the machine.
  private var batches: [String: [Batch]] = [:]
  private var logs: [String: StageLog] = [:]
  /// What went wrong in the stage itself.
  private(set) var problems: [String] = []
  /// Whether its frames arrive; false: it is stopped or cut off.
  package var answers = true
  private var subscriptions: [SubscriberID: Set<[UInt8]>] = [:]
  /// Frames on their way, by the link's number.
  private(set) var sent: [UInt64: [[UInt8]]] = [:]

  init(
    log: LogID = 3, epoch: Epoch = 5 << 32, start: StartNumber, now: UInt64, upstream: Bool = false, siblings: Int = 0
  ) {
    var configuration = HubMachineConfiguration()
    configuration.recovery = !upstream
    birth = HubBirth(logID: upstream ? 0 : log, epoch: upstream ? 0 : epoch, start: start, tailProven: true)
    let time = HubTime(monotonic: now, wall: 500_000 + now)
    machine = HubMachine(configuration: configuration, birth: birth, time: time, epochSeed: 11)
    self.configuration = configuration
    self.siblings = siblings
    store = MemoryStore(logID: birth.logID, epoch: birth.epoch)
    if upstream { machine.follow(upstream: "home", as: UInt64(start), time: time) }
    machine.follow(siblings: siblings)
  }

  /// Another process serves the same log from the same store.
  func restart(_ now: UInt64) {
    birth.start += 1
    let time = HubTime(monotonic: now, wall: 500_000 + now)
    machine = HubMachine(configuration: configuration, birth: birth, time: time, epochSeed: 11)
    machine.follow(siblings: siblings)
    (subscriptions, sent) = ([:], [:])
    for (model, batches) in batches.sorted(by: { $0.key < $1.key }) {
      do { try machine.restore(StoredModel(model: model, chunks: [], batches: batches)) } catch {
        problems.append("\(error)")
      }
    }
  }

  /// What was ever committed to a model.
  func log(of model: String) -> StageLog { logs[model] ?? StageLog() }

  private func keep(_ batch: Batch) {
    batches[batch.model, default: []].append(batch)
    guard let group = try? CommitGroup.decode(batch.body) else { return }
    logs[batch.model, default: StageLog()].add(group)
  }

  /// Performs one input, and all that follows from it.
  package func act(_ now: UInt64, _ body: (inout HubMachine, HubTime, inout HubOutput) -> Void) {
    let time = HubTime(monotonic: now, wall: 500_000 + now)
    var output = HubOutput()
    body(&machine, time, &output)
    machine.finishDrain(time: time, into: &output)
    repeat {
      while !output.batches.isEmpty {
        let batches = output.batches
        output.batches.removeAll()
        do {
          let results = try store.append(batches)
          for batch in batches { keep(batch) }
          machine.appended(results, of: batches, time: time, into: &output)
        } catch { problems.append("\(error)") }
      }
      if let query = output.history {
        output.history = nil
        machine.answered(query, store.history(query).result, into: &output)
      }
      if machine.isStreaming { machine.finishDrain(time: time, into: &output) }
    } while machine.isStreaming || !output.batches.isEmpty || output.history != nil
    output.forEachFrame { destination, frame in
      switch destination {
      case .connection(let connection): sent[connection, default: []].append(Array(frame))
      case .publish:
        let topic = Array(frame.prefix(4))
        for (subscriber, topics) in subscriptions where topics.contains(topic) {
          sent[subscriber, default: []].append(Array(frame))
        }
      }
    }
    for model in batches.keys {
      if let head = machine.head(of: model) { logs[model]?.digests[head.version] = head.digest }
    }
  }

  package func take(_ link: UInt64) -> [[UInt8]] {
    defer { sent[link] = nil }
    return sent[link] ?? []
  }

  func subscribe(_ topic: [UInt8], _ link: UInt64, _ now: UInt64) {
    guard subscriptions[link, default: []].insert(topic).inserted else { return }
    act(now) { machine, time, output in
      topic.withUnsafeBytes { machine.subscribed($0, by: link, time: time, into: &output) }
    }
  }

  func close(_ link: UInt64, _ now: UInt64) {
    let topics = subscriptions.removeValue(forKey: link) ?? []
    sent[link] = nil
    act(now) { machine, time, output in
      for topic in topics.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        topic.withUnsafeBytes { machine.unsubscribed($0, by: link, time: time, into: &output) }
      }
      machine.closed(link, time: time, into: &output)
    }
  }
}

/// The commits of one model.
struct StageLog {
  /// The writer of each version.
  var writers: [Version: (tag: Tag, number: ProposalNumber)] = [:]
  /// The digest at the end of each batch.
  var digests: [Version: UInt64] = [:]
  private var seen: [Tag: Set<ProposalNumber>] = [:]
  /// A proposal that was committed twice.
  private(set) var repeated: String?

  mutating func add(_ group: CommitGroup) {
    for (offset, commit) in group.commits.enumerated() {
      let (version, origin) = (group.previous + 1 + Version(offset), group.origins[Int(commit.origin)])
      writers[version] = (origin.tag, commit.number)
      if commit.number > 0, !seen[origin.tag, default: []].insert(commit.number).inserted {
        repeated = "proposal \(commit.number) of \(origin) was committed twice, the second time as \(version)"
      }
    }
  }
}

/// A link to a hub: both connections of a peer, or of an uplink.
package struct StageLink {
  package var hub: StageHub
  var number: UInt64 = 0
  var isOpen = false
  var opensAt: UInt64?
  /// Frames sent on this link since the stage began, by kind.
  var kinds: [UInt8: Int] = [:]
}

/// A peer: the machine and what it was told.
package final class StagePeer {
  package var session: Session
  package var link: StageLink
  package var effects = PeerEffects()
  package var outcomes: [WriteID: Outcome] = [:]
  package var retries: [RetryReason] = []
  package var listed: [String] = []
  /// How its barriers have ended.
  package var barriers: [BarrierID: BarrierEnd] = [:]
  /// How its requests for history have ended.
  package var pages: [HistoryID: HistoryEnd] = [:]
  /// What it was asked as the owner of a model.
  package var asked: [ApprovalRequest] = []
  /// Why it refuses a write; nil: it approves. It answers nothing while there is no such function.
  package var answer: ((ApprovalRequest) -> String?)?
  /// Whether it receives nothing: its link is about to break.
  package var isDeaf = false
  /// Whether its process is stopped.
  package var isStopped = false
  /// The frames that it received, kinds only.
  package var received: [HubMessageKind] = []

  package init(_ session: Session, at hub: StageHub) {
    self.session = session
    link = StageLink(hub: hub)
  }
}

extension FieldOperation {
  /// Sets a field to a JSON text.
  package static func set(_ field: String, _ value: String) -> FieldOperation {
    FieldOperation(.set, field, FieldValue(bytes: Array(value.utf8)))
  }
  /// Adds a JSON number to a field.
  package static func add(_ field: String, _ value: String) -> FieldOperation {
    FieldOperation(.add, field, FieldValue(bytes: Array(value.utf8)))
  }
}

extension Outcome {
  /// Whether it is `committed`.
  package var isCommitted: Bool { if case .committed = self { true } else { false } }
}
