import BindbusTesting
import BindingProtocol
import Foundation
import Testing

@Suite("Names of removed models", .serialized)
struct NamesTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// Makes `count` models, deletes their field and leaves them, a hundred at a time.
  private func churn(_ peer: RawPeer, _ count: Int, from first: Int = 0) throws {
    for begin in stride(from: first, to: first + count, by: 100) {
      let names = (begin..<min(begin + 100, first + count)).map { "churn/m\($0)" }
      try peer.send(.join(names.enumerated().map { Join(request: UInt32($0 + 1), model: $1) }))
      var topics: [Topic] = []
      while topics.count < names.count {
        topics.append(try peer.next { if case .topic(let assigned) = $1 { assigned.topic } else { nil } })
      }
      let value = FieldValue(bytes: Array("1".utf8))
      try peer.send(
        .propose(
          topics.flatMap { topic in
            [
              NumberedProposal(
                topic: topic, number: 1, operations: [WireOperation(verb: .set, field: .name("a"), value: value)]),
              NumberedProposal(
                topic: topic, number: 2, operations: [WireOperation(verb: .clear, field: .id(0), value: nil)]),
            ]
          }))
      var decided: Set<Topic> = []
      while decided.count < topics.count {
        decided.formUnion(
          try peer.next { if case .outcomes(let outcomes) = $1 { outcomes.outcomes.map(\.topic) } else { nil } })
      }
      try peer.send(
        .alive(Alive(heartbeat: 1, entries: topics.map { AliveEntry(topic: $0, confirmed: 2, applied: 0) })))
      try peer.send(.leave(Leave(topics: topics)))
    }
  }

  private func bindhub(_ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program("bindhub"), arguments, hub: bench.hub)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  @Test("removed models leave nothing in the hub or its store, and after a restart new ones fit")
  func churned() async throws {
    // The maximum number of models in a hub (maxModels); more are made after the restart.
    let count = 100_000
    let store = bench.folder.appendingPathComponent("names.db").path
    do {
      let hub = try bench.startHub(["--store", store])
      let peer = try RawPeer(bench.hub)
      try peer.hello()
      try churn(peer, count)
      #expect(try await eventually { try bench.counter("removedModels") == count })
      #expect(try bench.run("set", "fresh/model.x=1", "--timeout", "20s").code == 0)
      #expect(try bench.run("ls").output.contains("fresh/model"))
      hub.send(SIGTERM)
      #expect(hub.end() == 0)
    }
    let hub = try bench.startHub(["--store", store])
    let peer = try RawPeer(bench.hub)
    try peer.hello()
    try churn(peer, 100, from: count)
    #expect(try bench.run("set", "other/model.x=1", "--timeout", "20s").code == 0)
    let compacted = try bindhub("compact", "--store", store, "--timeout", "60000")
    #expect(compacted.code == 0, "\(compacted.output)")
    hub.send(SIGTERM)
    #expect(hub.end() == 0)
    let checked = try bindhub("check", store)
    #expect(checked.code == 0 && checked.output.contains("2 models"), "\(checked.output)")
  }
}
