import ArgumentParser
import BindingHub
import BindingProtocol
import Foundation

/// A hub in this thread with one session that writes to one model.
struct LocalHub {
  private var machine: HubMachine
  private var output = HubOutput()
  private var number: ProposalNumber = 0
  private var time = HubTime(monotonic: 1_000, wall: 1_000_000)
  private let session: SessionID = 7
  private let topic: Topic
  private static let start: StartNumber = 5

  /// - Parameter kind: `none`: everybody may do everything, without limits; `standard`: with them; `refused`: with
  ///   them, and without the right to write.
  init(_ kind: String) {
    var configuration = HubMachineConfiguration()
    configuration.maxUnconfirmedOutcomes = 100_000
    machine = HubMachine(
      configuration: configuration,
      birth: HubBirth(logID: 1, epoch: 1 << 32 | 1, start: Self.start, tailProven: true), time: time, epochSeed: 1)
    let all = [AccessPattern("*")].compactMap { $0 }
    if kind != "none" {
      let role = AccessRole(kind == "refused" ? [.read: all] : [.read: all, .write: all], fanout: true)
      let limits: [NameLimits.Kind: Int] = [.writesPerSecond: 1_000_000_000, .bytesPerSecond: 1_000_000_000]
      _ = machine.apply(AccessPolicy(roles: ["r": role], names: ["anna": ["r"]], limits: ["r": limits]), time: time)
      machine.identify(1, as: .named("anna", role: nil))
    } else {
      machine.identify(1, as: .owner(name: nil))
    }
    let identity = Identity(secret: Secret(high: 1, low: 2), name: "peer")
    topic = Topics.firstModel
    send(.hello(Hello(identity: identity, capabilities: [Capability.users, Capability.history])), start: 0)
    send(.join([Join(request: 1, model: "lamp")]), start: Self.start)
    machine.finishDrain(time: time, into: &output)
    time = HubTime(monotonic: 3_000, wall: 1_002_000)
    machine.tick(time: time, into: &output)
    output.removeAll()
  }

  private mutating func send(_ message: PeerMessage, start: StartNumber) {
    message.encode(session: session, start: start).withUnsafeBytes {
      machine.receive($0, on: 1, time: time, into: &output)
    }
  }

  /// Sends one message of writes, and stores what is decided.
  /// - Parameters:
  ///   - store: nil: nothing is stored.
  ///   - padding: follows the number in each value.
  mutating func propose(_ count: Int, _ store: (any Store)?, padding: String = "") throws {
    let writes = (1...count).map { offset in
      NumberedProposal(
        topic: topic, number: number + ProposalNumber(offset), confirmed: number,
        operations: [
          WireOperation(
            verb: .set, field: .name("level"), value: FieldValue(bytes: Array("\"\(offset)\(padding)\"".utf8)))
        ])
    }
    number += ProposalNumber(count)
    send(.propose(writes), start: Self.start)
    machine.finishDrain(time: time, into: &output)
    while !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll()
      let results = try store?.append(batches) ?? batches.map { _ in .stored }
      machine.appended(results, of: batches, time: time, into: &output)
    }
    output.removeAll()
  }

  /// What a page of history takes, in nanoseconds of processor time.
  struct Page {
    /// At the hub's thread: the request, and the answer to the peer.
    var hub: Double
    /// Where the store is read.
    var store: Double
    var commits: Int
  }

  /// Asks for the newest page of history.
  mutating func readPage(from store: any Store) throws -> Page {
    var request = HistoryRequest(request: 1, topic: topic)
    request.count = 1_000
    let begin = processorTime()
    send(.history(request), start: Self.start)
    machine.finishDrain(time: time, into: &output)
    guard let query = output.takeHistory() else { throw ExitCode(1) }
    let asked = processorTime()
    let result = store.history(query).result
    let read = processorTime()
    machine.answered(query, result, into: &output)
    let answered = processorTime()
    output.removeAll()
    let commits = try result.get().commits.count
    return Page(hub: Double(asked - begin + answered - read), store: Double(read - asked), commits: commits)
  }
}

/// The processor time of the calling thread, nanoseconds: what other processes do meanwhile is not in it.
func processorTime() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
