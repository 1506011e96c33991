import BindingProtocol
import Testing

@testable import BindingHub

/// Earlier commits, asked for page by page (§5.5).
@Suite("The past of a model, in the machine")
struct HistoryTests {
  private var bench = HubBench()

  private static func request(
    _ number: UInt32 = 1, topic: Topic = HubBench.lamp, _ change: (inout HistoryRequest) -> Void = { _ in }
  ) -> PeerMessage {
    var request = HistoryRequest(request: number, topic: topic)
    change(&request)
    return .history(request)
  }

  private func pages(_ received: Received, _ peer: Speaker = .ann) -> [PastPage] {
    received.messages(to: peer).compactMap { if case .past(let page) = $0 { page } else { nil } }
  }

  private mutating func ask(_ peer: Speaker = .ann, _ change: (inout HistoryRequest) -> Void = { _ in }) -> PastPage? {
    pages(bench.send(peer, Self.request(1, change)), peer).first
  }

  /// Ann's versions 1 to N of `level`, each its number.
  private mutating func write(_ count: Int, by peer: Speaker = .ann) {
    bench.live(peer)
    for number in 1...count { bench.write(peer, ProposalNumber(number), .set("level", "\(number)")) }
  }

  // MARK: Pages

  @Test("a page has commits newest first, with writer, number, time and changes, and the horizon")
  mutating func page() throws {
    write(2)
    bench.write(.ann, 3, .set("on", "true"), .delete("level"))
    let page = try #require(ask())
    #expect(page.end == .all && page.head == 3)
    #expect(page.horizon == 1 && page.reason == .beginning)
    #expect(page.commits.map(\.version) == [3, 2, 1])
    #expect(page.commits.map(\.number) == [3, 2, 1])
    #expect(page.commits.allSatisfy { $0.origin == Speaker.ann.origin && $0.epoch == HubBench.epoch && $0.time > 0 })
    #expect(page.commits[0].changes.map(\.field) == ["on", "level"])
    #expect(page.commits[0].changes.map(\.value) == [json("true"), nil])
    #expect(page.commits[2].changes == [PastChange(field: "level", value: json("1"))])
  }

  @Test("pages follow each other without a gap or a double, in both orders", arguments: [false, true])
  mutating func follow(_ isOldestFirst: Bool) throws {
    write(23)
    var versions: [Version] = []
    var bounds: (after: Version, through: Version) = (0, 0)
    for _ in 0..<10 {
      let page = try #require(
        ask { request in
          request.isOldestFirst = isOldestFirst
          (request.after, request.through, request.count) = (bounds.after, bounds.through, 5)
        })
      #expect(page.commits.count <= 5)
      versions += page.commits.map(\.version)
      if isOldestFirst { bounds.after = page.next } else { bounds.through = page.next }
      if page.end == .all { break }
    }
    #expect(versions == (isOldestFirst ? Array(1...23) : Array((1...23).reversed())))
  }

  @Test("a page has at most 64 KiB unless one commit alone is longer")
  mutating func bytes() throws {
    bench = HubBench { $0.limits.maxValueBytes = 200_000 }
    bench.live(.ann)
    for number in 1...6 { bench.write(.ann, ProposalNumber(number), .set("level", text(ofBytes: 30_000))) }
    bench.write(.ann, 7, .set("level", text(ofBytes: 150_000)))
    let received = bench.send(.ann, Self.request())
    #expect(pages(received).map(\.commits.count) == [1])
    #expect(pages(bench.send(.ann, Self.request { $0.through = 6 })).map(\.commits.count) == [2])
    for frame in bench.send(.ann, Self.request { $0.through = 6 }).frames(to: .ann) {
      #expect(frame.byteCount <= HistoryQuery.maxBytes + 64)
    }
  }

  @Test("commits are filtered by field, writer, time, version and epoch")
  mutating func filters() throws {
    write(3)
    bench.live(.ben)
    bench.now += 5_000
    bench.write(.ben, 1, .set("hue", "1"), .set("level", "9"))
    #expect(ask { $0.fields = ["hue"] }?.commits.map(\.changes.count) == [1])
    #expect(ask { $0.fields = ["none"] }?.commits.isEmpty == true)
    #expect(ask { $0.writers = ["ben"] }?.commits.map(\.version) == [4])
    #expect(ask { $0.writers = [Speaker.ben.identity.tag.description] }?.commits.map(\.version) == [4])
    #expect(ask { $0.writers = ["ann-\(Speaker.ann.identity.tag.short)"] }?.commits.map(\.version) == [3, 2, 1])
    let later = 499_000 + bench.now
    #expect(ask { $0.since = later }?.commits.map(\.version) == [4])
    #expect(ask { $0.until = later }?.commits.map(\.version) == [3, 2, 1])
    #expect(ask { ($0.after, $0.through) = (1, 3) }?.commits.map(\.version) == [3, 2])
    #expect(ask { $0.epoch = HubBench.epoch }?.commits.count == 4)
    #expect(ask { $0.epoch = HubBench.oldEpoch }?.commits.isEmpty == true)
  }

  @Test("a commit that is decided and not stored yet is not in a page")
  mutating func unstored() throws {
    write(2)
    bench.settling = .later
    bench.write(.ann, 3, .set("level", "3"))
    #expect(ask()?.commits.map(\.version) == [2, 1])
    try bench.settleWithStore()
    #expect(ask()?.commits.map(\.version) == [3, 2, 1])
  }

  @Test("after a renumbering the history begins anew, and says why")
  mutating func renumbered() throws {
    bench = HubBench { $0.limits.maxModelFields = 40 }
    bench.live(.ann)
    bench.write(.ann, 1, .set("kept", "1"))
    var number: ProposalNumber = 2
    while bench.counters.renumberedModels == 0, number < 200 {
      let topic = bench.machine.topic(of: "lamp") ?? 0
      bench.send(
        .ann,
        .propose([
          .of(number, [.set("n\(number)", "1")], topic: topic), .of(number + 1, [.delete("n\(number)")], topic: topic),
        ]))
      number += 2
    }
    let topic = try #require(bench.machine.topic(of: "lamp"))
    let version = try #require(bench.machine.head(of: "lamp")?.version)
    bench.hello(.ben)
    bench.join(.ben, Join(request: 1, model: "lamp"), topic: topic)
    bench.send(.ben, .propose([.of(1, [.set("new", "1")], topic: topic)]))
    let page = try #require(pages(bench.send(.ben, Self.request(topic: topic)), .ben).first)
    #expect(page.commits.map(\.version) == [version + 1])
    #expect(page.commits.first?.changes == [PastChange(field: "new", value: json("1"))])
    #expect(page.horizon == version + 1 && page.reason == .renumbered)
  }

  // MARK: Who is served

  @Test("an ephemeral model, one that is not joined, and a store that cannot read are told as such")
  mutating func ends() {
    write(1)
    let name = Names.ephemeral("lamp")
    bench.join(.ann, Join(request: 2, model: name), topic: HubBench.lamp + 1)
    #expect(pages(bench.send(.ann, Self.request(2, topic: HubBench.lamp + 1))).map(\.end) == [PastPage.End.none])
    bench.live(.ben)
    bench.send(.ben, .leave(Leave(topics: [HubBench.lamp])))
    #expect(ask(.ben)?.end == .notJoined)
    bench.readsHistory = false
    bench.send(.ann, Self.request(3))
    let received = bench.act { [query = bench.queries.last] machine, _, output in
      if let query { machine.answered(query, .failure(StoreError("it is damaged")), into: &output) }
    }
    #expect(received.notices == [.unreadableHistory(model: "lamp", problem: "it is damaged")])
    #expect(pages(received).map(\.end) == [.unreadable])
  }

  @Test("a session that did not name the capability is answered `unknownKind`")
  mutating func older() {
    let hello = Hello(identity: Speaker.ann.identity, capabilities: [])
    bench.send(.ann, .hello(hello))
    #expect(bench.send(.ann, Self.request()).errors(.ann).map(\.code) == [.unknownKind])
  }

  @Test("history goes with the right to read, unless a role says otherwise")
  mutating func rights() throws {
    func patterns(_ texts: String...) -> [AccessPattern] { texts.compactMap { AccessPattern($0) } }
    let policy = AccessPolicy(
      roles: [
        "reader": AccessRole([.read: patterns("*")]), "blind": AccessRole([.read: patterns("*"), .history: []]),
        "some": AccessRole([.read: patterns("lamp"), .history: patterns("*")]),
      ],
      names: ["ann": ["reader"], "ben": ["blind"], "cat": ["some"], "dan": ["blind", "reader"]])
    func may(_ name: String, _ model: String) -> Bool {
      policy.rights(of: .named(name, role: nil)).mayReadHistory(of: model)
    }
    #expect(may("ann", "lamp") && !may("ben", "lamp") && may("dan", "lamp"))
    #expect(may("cat", "lamp") && !may("cat", "door"))
    // A pattern of history lets nobody read, and publishes nothing less.
    #expect(!policy.rights(of: .named("cat", role: nil)).mayRead("door"))
    bench.act { machine, _, _ in
      _ = machine.apply(policy)
      for peer in [Speaker.ann, .ben] { machine.identify(peer.connection, as: .named(peer.identity.name, role: nil)) }
    }
    bench.live(.ann)
    bench.live(.ben)
    #expect(ask(.ann)?.end == .all)
    #expect(ask(.ben)?.end == .notPermitted)
  }

  // MARK: Turns

  @Test("of several requests of a session only the last is answered")
  mutating func replaced() {
    write(3)
    let received = bench.send(.ann, Self.request(1), Self.request(2), Self.request(3))
    #expect(pages(received).map(\.request) == [3])
  }

  @Test("a page that the store reads while its session asks for another is not sent")
  mutating func replacedWhileRead() {
    write(3)
    bench.readsHistory = false
    bench.send(.ann, Self.request(1))
    #expect(pages(bench.send(.ann, Self.request(2))).isEmpty)
    #expect(pages(bench.answerHistory()).isEmpty)
    #expect(bench.queries.count == 2)
    #expect(pages(bench.answerHistory()).map(\.request) == [2])
  }

  @Test("a request ends with its session, and when the session leaves the model")
  mutating func ended() {
    write(3)
    bench.live(.ben)
    bench.readsHistory = false
    bench.send(.ann, Self.request(1))
    bench.send(.ben, Self.request(1))
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    #expect(pages(bench.answerHistory()).isEmpty)
    bench.send(.ben, .leave(Leave()))
    #expect(pages(bench.answerHistory(), .ben).isEmpty)
    #expect(bench.machine.history.count == 0)
  }

  @Test("a session that asks without end delays others by one page each, keeps nothing, and stops no write")
  mutating func hostile() throws {
    write(5)
    bench.live(.ben)
    bench.live(.cat)
    let frame = Speaker.ann.frame(Self.request(7))
    var pagesOfAnn = 0
    for round in 0..<100 {
      // A thousand requests in a drain.
      let received = bench.deliver(Array(repeating: frame, count: 1_000), on: Speaker.ann.connection)
      pagesOfAnn += pages(received).count
      #expect(bench.machine.history.count <= 1)
      if round % 20 == 0 {
        let number = ProposalNumber(round / 20 + 1)
        #expect(bench.write(.ben, number, .set("hue", "\(round)")) == .committed(UInt64(6 + round / 20)))
        #expect(pages(bench.send(.cat, Self.request(UInt32(round))), .cat).map(\.request) == [UInt32(round)])
      }
    }
    #expect(pagesOfAnn <= 100)
    #expect(bench.counters.historyPages <= 105)
  }

  @Test("in one drain at most one page is read, and the sessions take turns")
  mutating func turns() {
    write(5)
    let others = (0..<4).map { Speaker(50 + UInt64($0), "p\($0)") }
    for peer in others { bench.live(peer) }
    bench.sendsAll = false
    bench.together(others.map { ($0, Self.request(1)) })
    var served: [String] = []
    for _ in 0..<4 {
      // The first asks again each time, and waits behind the others.
      for received in [bench.act { _, _, _ in }, bench.send(others[0], Self.request(2))] {
        served += others.filter { !pages(received, $0).isEmpty }.map(\.identity.name)
        #expect(received.frames.count { if case .past = $0.message { true } else { false } } <= 1)
      }
    }
    #expect(Array(served.prefix(3)) == ["p1", "p2", "p3"])
  }

  @Test("a name past its bytes a second waits for its page, and gets it")
  mutating func charged() throws {
    let everything = [AccessPattern("*")].compactMap { $0 }
    let policy = AccessPolicy(
      roles: ["small": AccessRole([.read: everything, .write: everything], fanout: true)],
      names: ["*": ["small"]], limits: ["small": [.bytesPerSecond: 2_000]])
    bench.act { machine, time, _ in
      _ = machine.apply(policy, time: time)
      machine.identify(Speaker.ann.connection, as: .named("ann", role: nil))
    }
    bench.live(.ann)
    bench.write(.ann, 1, .set("level", text(ofBytes: 5_000)))
    // A burst of four seconds is 8,000 bytes.
    var count = 0
    for number in 2...6 { count += pages(bench.send(.ann, Self.request(UInt32(number)))).count }
    #expect(count == 2)
    var waited: UInt64 = 0
    var answered: [PastPage] = []
    while answered.isEmpty, waited < 20_000 {
      waited += 100
      answered = pages(bench.wait(100))
    }
    #expect(answered.map(\.request) == [6] && waited > 200)
  }
}
