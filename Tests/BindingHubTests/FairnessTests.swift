import BindingHub
import BindingProtocol
import Testing

/// What one connection may cost the others (G9).
@Suite("Fairness between connections")
struct FairnessTests {
  private var bench = HubBench()

  /// Another session on this peer's request connection.
  private func neighbour(_ number: UInt64, of peer: Speaker) -> Speaker {
    var other = Speaker(number, "n\(number)")
    other.connection = peer.connection
    return other
  }

  private func reports(_ received: Received, _ peer: Speaker) -> [StatusReport] {
    received.messages(to: peer).compactMap { if case .statusReport(let report) = $0 { report } else { nil } }
  }

  // MARK: Reports

  @Test("any number of status requests of one session in a drain get one report")
  mutating func oneReport() {
    let received = bench.deliver(Array(repeating: Speaker.ann.frame(.status), count: 4_000), on: Speaker.ann.connection)
    #expect(reports(received, .ann).map(\.session) == [Speaker.ann.session])
    #expect(received.errors(.ann).isEmpty)
  }

  @Test("a status request within 100 ms of a report is answered by the next one, with the state by then")
  mutating func nextReport() throws {
    bench.send(.ann, .status)
    #expect(reports(bench.send(.ben, .status), .ben).isEmpty)
    #expect(reports(bench.wait(99), .ben).isEmpty)
    bench.hello(.cat)
    let report = try #require(reports(bench.wait(1), .ben).first)
    #expect(try report.json.json["sessions"]?.elements?.count == 1)
  }

  @Test("all askers get the same report, each with its own session")
  mutating func sharedReport() {
    let received = bench.together([(.ann, .status), (.ben, .status)])
    #expect(reports(received, .ann).map(\.session) == [Speaker.ann.session])
    #expect(reports(received, .ben).map(\.session) == [Speaker.ben.session])
  }

  @Test("a second session that asks on the same connection before the report gets `overLimit`, and lives on")
  mutating func secondQuestion() {
    let other = neighbour(31, of: .ann)
    bench.hello(.ann)
    bench.hello(other)
    let received = bench.together([(.ann, .status), (other, .status)])
    let errors = received.errors(.ann)
    #expect(errors.map(\.session) == [other.session])
    #expect(errors.map(\.code) == [.overLimit] && errors.map(\.isFatal) == [false])
    #expect(bench.join(other, Join(request: 1, model: "lamp")).joined(.ann).count == 1)
  }

  @Test("a closed connection gets no report and does not keep others from one")
  mutating func askerGone() {
    bench.send(.ann, .status)
    bench.together([(.ann, .status), (.ben, .status)])
    bench.close(Speaker.ann.connection)
    let received = bench.wait(100)
    #expect(reports(received, .ann).isEmpty)
    #expect(reports(received, .ben).count == 1)
  }

  // MARK: Sessions

  @Test("a connection has 16 sessions; the next hello is refused with the limit's name, another connection is welcomed")
  mutating func sessionsOfOneConnection() {
    for number in 0..<16 {
      let peer = neighbour(100 + UInt64(number), of: .ann)
      let received = bench.send(peer, .hello(Hello(identity: peer.identity)))
      #expect(received.errors(peer).isEmpty, "\(number)")
    }
    let late = neighbour(116, of: .ann)
    let errors = bench.send(late, .hello(Hello(identity: late.identity))).errors(late)
    #expect(errors.map(\.code) == [.tooManySessions])
    #expect(errors.first?.text.contains("maxConnectionSessions is 16") == true, "\(errors)")
    #expect(bench.counters.sessionsRefused == 1)
    #expect(bench.hello(.ben).welcome(.ben) != nil)
    #expect(bench.counters.expiredLeases == 0)
  }

  @Test("a connection inside the hub's process has its own session limit")
  mutating func sessionsInProcess() {
    bench = HubBench { $0.maxInProcessSessions = 20 }
    var last: [ErrorMessage] = []
    for number in 0..<21 {
      var peer = Speaker(100 + UInt64(number), "page")
      peer.connection = 1 << 63 | 5
      #expect(last.isEmpty)
      last = bench.send(peer, .hello(Hello(identity: peer.identity))).errors(peer)
    }
    #expect(last.map(\.code) == [.tooManySessions])
    #expect(last.first?.text.contains("maxInProcessSessions is 20") == true, "\(last)")
  }

  // MARK: Joins

  private func joins(_ count: Int) -> PeerMessage {
    .join((0..<count).map { Join(request: UInt32($0), model: "m/\($0)") })
  }

  private func assigned(_ received: Received, _ peer: Speaker) -> [String] {
    received.messages(to: peer).compactMap { if case .topic(let topic) = $0 { topic.model } else { nil } }
  }

  @Test("a thousand joins in one message are handled in shares, in order, and others are served in between")
  mutating func joinsInShares() {
    bench.live(.ben)
    bench.hello(.ann)
    bench.sendsAll = false
    var models = assigned(bench.send(.ann, joins(1_000)), .ann)
    #expect(!models.isEmpty && models.count <= 256)
    #expect(bench.machine.isStreaming)
    #expect(bench.write(.ben, 1, .set("on", "true")) == .committed(1))
    #expect(models.count < 1_000)
    while bench.machine.isStreaming { models += assigned(bench.wait(0), .ann) }
    // The shares sent in the write's own turn are not collected.
    #expect(models == models.sorted { Int($0.dropFirst(2)) ?? 0 < Int($1.dropFirst(2)) ?? 0 })
    #expect(models.last == "m/999" && models.count >= 1_000 - 256)
  }

  @Test("a later join of a session does not overtake its waiting joins; one of another session does")
  mutating func joinsInTurn() {
    bench.hello(.ann)
    bench.hello(.ben)
    bench.sendsAll = false
    bench.send(.ann, joins(1_000))
    bench.send(.ann, .join([Join(request: 5_000, model: "last")]))
    #expect(assigned(bench.send(.ben, .join([Join(request: 1, model: "quick")])), .ben) == ["quick"])
    var models: [String] = []
    while bench.machine.isStreaming { models += assigned(bench.wait(0), .ann) }
    #expect(models.last == "last")
  }

  @Test("pending joins of an ended session are discarded")
  mutating func endedJoins() {
    bench.hello(.ann)
    bench.sendsAll = false
    bench.send(.ann, joins(1_000))
    #expect(bench.machine.isStreaming)
    #expect(assigned(bench.send(.ann, .leave(Leave())), .ann).count <= 256)
    #expect(!bench.machine.isStreaming)
  }

  @Test("models below a prefix are announced in shares, each once, and only the last message is complete")
  mutating func announcedInShares() {
    bench.hello(.ann)
    for index in 0..<999 {
      let topic = HubBench.lamp + Topic(index)
      bench.join(.ann, Join(request: 1, model: "m/\(index)"), topic: topic)
      bench.write(.ann, 1, .set("a", "1"), topic: topic)
    }
    bench.hello(.ben)
    bench.sendsAll = false
    var turns = [bench.send(.ben, .join([Join(request: 9, prefix: "m/")]))]
    while bench.machine.isStreaming { turns.append(bench.wait(0)) }
    let announces = turns.flatMap { $0.announces(.ben) }
    #expect(turns.count > 1)
    #expect(Set(announces.flatMap { $0.models.map(\.model) }).count == 999)
    #expect(announces.map(\.models.count).reduce(0, +) == 999)
    #expect(announces.map(\.isComplete) == Array(repeating: false, count: announces.count - 1) + [true])
  }
}

extension HubBench {
  fileprivate mutating func write(
    _ peer: Speaker, _ number: ProposalNumber, _ operations: WireOperation..., topic: Topic
  ) {
    send(peer, .propose([.of(number, operations, topic: topic)]))
  }
}
