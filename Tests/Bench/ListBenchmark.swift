import ArgumentParser
import BindingHub
import BindingProtocol
import Foundation

/// What one edit of a long list costs: the time of the hub's decision, and the bytes of its messages.
struct ListBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Measure edits of a long list: the hub's time for each, and bytes of messages.")

  @Option(help: "Elements of the list.")
  var elements = 10_000
  @Option(help: "Edits of each kind.")
  var edits = 2_000

  func run() throws {
    var hub = ListHub()
    for first in stride(from: 0, to: elements, by: 500) {
      _ = hub.propose(
        (first..<min(first + 500, elements)).map { ListBenchmark.insert("e\($0)", ListOperand(element: Self.element)) })
    }
    let plain = measure(&hub) { _ in WireOperation(verb: .set, field: .name("level"), value: Self.element) }
    print("a plain set beside the list: \(plain)")
    print(
      "insert at a random place: "
        + measure(&hub) {
          ListBenchmark.insert("n\($0)", ListOperand(after: random(), before: random(), element: Self.element))
        })
    print(
      "move to a random place: "
        + measure(&hub) { index in
          let place = ListOperand(after: "e\((index * 7 + 1) % elements)", before: "e\((index * 3 + 2) % elements)")
          return WireOperation(verb: .move, field: .name("cues@e\(index * 5 % elements)"), value: place.value)
        })
    print(
      "insert at one place: "
        + measure(&hub) { ListBenchmark.insert("o\($0)", ListOperand(after: "e10", element: Self.element)) })
    print(
      "replace: "
        + measure(&hub) { WireOperation(verb: .replace, field: .name("cues@e\($0)"), value: Self.element) })
    print("remove: " + measure(&hub) { WireOperation(verb: .delete, field: .name("cues@n\($0)"), value: nil) })
  }

  private static let element = FieldValue(bytes: Array(#"{"name":"Storm","time":12.5}"#.utf8))

  private func random() -> String { "e\(Int.random(in: 0..<elements))" }

  private static func insert(_ id: String, _ operand: ListOperand) -> WireOperation {
    WireOperation(verb: .insert, field: .name("cues@\(id)"), value: operand.value)
  }

  private func measure(_ hub: inout ListHub, _ operation: (Int) -> WireOperation) -> String {
    var (times, proposed, published): ([Double], [Int], [Int]) = ([], [], [])
    for index in 0..<edits {
      let figures = hub.propose([operation(index)])
      times.append(figures.microseconds)
      proposed.append(figures.proposed)
      published.append(figures.published)
    }
    func words<Value: Comparable>(_ values: [Value]) -> String {
      let sorted = values.sorted()
      return "\(sorted[sorted.count / 2]) (99 %: \(sorted[sorted.count * 99 / 100]), most: \(sorted[sorted.count - 1]))"
    }
    return "µs \(words(times)); bytes of the proposal \(words(proposed)), of the commit \(words(published))"
  }
}

/// A hub in this thread with one session that writes to one model, stored at once in memory.
private struct ListHub {
  private var machine: HubMachine
  private var output = HubOutput()
  private var number: ProposalNumber = 0
  private var time = HubTime(monotonic: 1_000, wall: 1_000_000)
  private static let start: StartNumber = 5

  init() {
    machine = HubMachine(
      configuration: HubMachineConfiguration(),
      birth: HubBirth(logID: 1, epoch: 1 << 32 | 1, start: Self.start, tailProven: true), time: time, epochSeed: 1)
    machine.identify(1, as: .owner(name: nil))
    let identity = Identity(secret: Secret(high: 1, low: 2), name: "peer")
    send(.hello(Hello(identity: identity, capabilities: Capability.all)), start: 0)
    send(.join([Join(request: 1, model: "show")]), start: Self.start)
    machine.finishDrain(time: time, into: &output)
    time = HubTime(monotonic: 3_000, wall: 1_002_000)
    machine.tick(time: time, into: &output)
    output.removeAll()
    let description = FieldValue(bytes: Array(#"{"fields":{"cues":{"policy":"list","type":"object"}}}"#.utf8))
    _ = propose([WireOperation(verb: .set, field: .name("@description"), value: description)])
  }

  @discardableResult
  private mutating func send(_ message: PeerMessage, start: StartNumber) -> Int {
    let frame = message.encode(session: 7, start: start)
    frame.withUnsafeBytes { machine.receive($0, on: 1, time: time, into: &output) }
    return frame.count
  }

  /// Sends one proposal, stores what is decided, and returns the time and the bytes of its messages.
  mutating func propose(_ operations: [WireOperation]) -> (microseconds: Double, proposed: Int, published: Int) {
    number += 1
    let proposal = NumberedProposal(
      topic: Topics.firstModel, number: number, confirmed: number - 1, operations: operations)
    let begin = now()
    let proposed = send(.propose([proposal]), start: Self.start)
    machine.finishDrain(time: time, into: &output)
    while !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll()
      machine.appended(batches.map { _ in .stored }, of: batches, time: time, into: &output)
    }
    let took = Double(now() - begin) / 1e3
    var published = 0
    output.forEachFrame { _, bytes in
      if bytes.count > 4, bytes[4] == HubMessageKind.commits.rawValue { published = max(published, bytes.count) }
    }
    output.removeAll()
    return (took, proposed, published)
  }
}
