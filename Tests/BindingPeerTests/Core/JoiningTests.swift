import Testing

@testable import BindingPeer

@Suite("A session joins and catches up")
struct JoiningTests {
  let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]

  @Test("a refused join is the model's state, reported once, retried, and cleared once joined")
  func refusedJoin() throws {
    var bench = PeerBench()
    bench.join()
    bench.join("fan")
    bench.open()
    bench.welcome()
    let refusal = ErrorMessage(
      session: bench.sessionID, code: .overLimit, isFatal: false, text: "lamp: there are 3 models")
    let received = bench.hub(.error(refusal))
    #expect(received.notices == [.hubError(code: .overLimit, fatal: false, text: "lamp: there are 3 models")])
    #expect(
      bench.session.syncState(of: "lamp").refusal == JoinRefusal(code: .overLimit, reason: "lamp: there are 3 models"))
    #expect(bench.session.syncState(of: "fan").refusal == nil && bench.session.phase == .live)
    bench.hub(bench.heartbeat(1))
    let again = bench.wait(3_000)
    #expect(bench.hub(.error(refusal)).notices.isEmpty)
    bench.catchUp(try #require(again.joins.first { $0.name == "lamp" }?.request), version: 1, [])
    #expect(bench.session.syncState(of: "lamp").refusal == nil && bench.session.isCurrent("lamp"))
  }

  @Test("a peer whose hub dropped the frame that names the topic has it from the next one, follows and writes")
  func topicLost() throws {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let request = bench.welcome().request
    let joined = bench.hub(bench.joined(request, version: 0, follows: .nothing))
    #expect(joined.subscribed == [PeerBench.lamp] && bench.session.isCurrent("lamp"))
    #expect(try bench.write(.set(["level": "1"])).drain.sent.contains { $0.kind == .propose })
    // The frame comes late.
    #expect(bench.hub(bench.assigned(request)).subscribed.isEmpty)
  }

  /// The hub's answer to a join without the right to read.
  private func denied(_ bench: PeerBench) -> ErrorMessage {
    ErrorMessage(session: bench.sessionID, code: .notPermitted, isFatal: false, text: "lamp: ben lacks the right read")
  }

  @Test("without the right to read, writes that were never sent end as refused, and later ones too")
  func writesWithoutRight() throws {
    var bench = PeerBench()
    bench.join()
    let (first, _) = try bench.write(.set(["level": "1"]))
    bench.open()
    bench.welcome()
    let refusal = Refusal(.notPermitted, "lamp: ben lacks the right read")
    let ended = bench.hub(.error(denied(bench)))
    #expect(ended.settled.map(\.id) == [first] && ended.settled.map(\.outcome) == [.refused(refusal)])
    let (second, _) = try bench.write(.set(["level": "2"]))
    bench.hub(bench.heartbeat(1))
    bench.wait(3_000)
    #expect(bench.hub(.error(denied(bench))).settled.map(\.id) == [second])
    #expect(bench.session.shown("lamp", "level") == nil)
  }

  @Test("when the right to read ends, what was read is dropped, and a write that was sent ends as unknown")
  func rightEnds() throws {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    let (sent, _) = try bench.write(.set(["level": "1"]))
    bench.lose()
    let (unsent, _) = try bench.write(.set(["on": "false"]))
    bench.open()
    bench.welcome()
    let ended = bench.hub(.error(denied(bench)))
    let outcomes = Dictionary(uniqueKeysWithValues: ended.settled.map { ($0.id, $0.outcome) })
    #expect(outcomes[sent] == .unknown("it was sent, and this peer may no longer read the model"))
    #expect(outcomes[unsent] == .refused(Refusal(.notPermitted, "lamp: ben lacks the right read")))
    #expect(bench.session.shown("lamp", "level") == nil && bench.session.shown("lamp", "on") == nil)
    #expect(bench.session.version(of: "lamp").version == 0)
    // The right is given back.
    bench.lose()
    bench.open()
    let again = bench.welcome()
    #expect(again.join.version == 0 && again.join.unacknowledged == 2)
    bench.catchUp(again.request, version: 9, lit)
    #expect(bench.session.shown("lamp", "on")?.description == "true" && bench.session.isCurrent("lamp"))
  }

  @Test("the rights that precede a joined count from then on, and a joined without them means everything")
  func rights() throws {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let request = bench.welcome().request
    #expect(bench.session.mayWrite("level", in: "lamp"))
    let rights = SessionRights(
      session: bench.sessionID, topic: PeerBench.lamp, mayOwn: false, mayBePresent: false, mayDescribe: false,
      write: [try #require(NamePattern("lev*"))], delete: [])
    bench.hub(bench.assigned(request), .rights(rights))
    #expect(bench.session.mayWrite("on", in: "lamp"), "the join is not answered yet")
    bench.hub(bench.joined(request, version: 0, follows: .nothing))
    #expect(bench.session.mayWrite("level", in: "lamp") && !bench.session.mayWrite("on", in: "lamp"))
    #expect(!bench.session.mayWrite(Names.description, in: "lamp"))
    #expect(!bench.session.syncState(of: "lamp").isReadOnly)
    bench.lose()
    bench.live()
    #expect(bench.session.mayWrite("on", in: "lamp"))
  }

  @Test("what the hub tells of its keys goes to the link; what it tells another session does not")
  func keys() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    bench.welcome()
    let keys = AnnouncedKeys(
      session: bench.sessionID, present: [UInt8](repeating: 1, count: 32),
      next: .init(key: [UInt8](repeating: 2, count: 32), moment: 5))
    var other = keys
    other.session &+= 1
    #expect(bench.hub(.keys(other), .keys(keys)).learned == [keys])
  }

  @Test("rights for another session or topic are ignored")
  func othersRights() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let request = bench.welcome().request
    bench.hub(bench.assigned(request))
    for (session, topic) in [(bench.sessionID &+ 1, PeerBench.lamp), (bench.sessionID, PeerBench.lamp + 1)] {
      bench.hub(
        .rights(
          SessionRights(
            session: session, topic: topic, mayOwn: false, mayBePresent: false, mayDescribe: false, write: [],
            delete: [])))
    }
    bench.hub(bench.joined(request, version: 0, follows: .nothing))
    #expect(!bench.session.syncState(of: "lamp").isReadOnly)
  }

  @Test("a hub's refusal of the session stays its state until a welcome or until the hub stops answering")
  func refusedSession() {
    var bench = PeerBench()
    for isWelcomed in [true, false] {
      bench.open()
      bench.hub(
        .error(ErrorMessage(session: bench.sessionID, code: .tooManySessions, isFatal: true, text: "9 are open")))
      #expect(bench.session.refusal == "9 are open" && bench.session.phase == .connecting)
      bench.open()
      #expect(bench.session.refusal == "9 are open")
      if isWelcomed {
        bench.welcome()
        #expect(bench.session.phase == .live)
        bench.lose()
      } else {
        bench.wait(10_000)
      }
      #expect(bench.session.refusal == nil)
    }
  }

  @Test("a welcomed session subscribes first, then joins its models")
  func welcomed() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let drain = bench.welcome()
    #expect(drain.phases == [.live])
    #expect(drain.listens == [Topics.sessionTopic(bench.sessionID)])
    #expect(drain.joins.map(\.name) == ["lamp"])
    #expect(drain.joins.first?.version == 0 && drain.joins.first?.unacknowledged == 1)
  }

  @Test("a session subscribes to a model's topic as soon as the hub names it")
  func subscribes() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let request = bench.welcome().request
    let drain = bench.hub(bench.assigned(request))
    #expect(drain.subscribed == [PeerBench.lamp])
  }

  @Test("a snapshot is one update of all its fields")
  func snapshot() {
    var bench = PeerBench()
    let drain = bench.live(version: 5, lit)
    #expect(drain.updates.count == 1)
    #expect(drain.updates.first?.cause == .snapshot)
    #expect(drain.changes == ["level - 0.3", "on - true"])
    #expect(bench.session.version(of: "lamp") == (100, 5))
    #expect(bench.session.isCurrent("lamp"))
  }

  @Test("a snapshot removes the fields that it does not name")
  func snapshotReplaces() {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    bench.lose()
    let drain = bench.live(version: 8, [Entry(name: "level", value: "0.4", version: 8)])
    #expect(drain.changes == ["level 0.3 0.4", "on true -"])
    #expect(bench.shown("on") == nil)
  }

  @Test("a catch-up in chunks changes nothing before its last chunk")
  func chunks() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let request = bench.welcome().request
    bench.hub(bench.assigned(request), bench.joined(request, version: 5, follows: .snapshot))
    let first = bench.hub(bench.chunk(request, version: 5, [lit[0]], isLast: false))
    #expect(first.updates.isEmpty && bench.shown("level") == nil)
    let last = bench.hub(bench.chunk(request, version: 5, [lit[1]], chunk: 1, firstID: 1))
    #expect(last.updates.count == 1)
    #expect(last.changes == ["level - 0.3", "on - true"])
  }

  @Test("a repeated chunk counts once")
  func chunkTwice() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let request = bench.welcome().request
    bench.hub(bench.assigned(request), bench.joined(request, version: 5, follows: .snapshot))
    let first = bench.chunk(request, version: 5, [lit[0]], isLast: false)
    bench.hub(first, first)
    #expect(bench.hub(bench.chunk(request, version: 5, [lit[1]], chunk: 1, firstID: 1)).changes.count == 2)
  }

  @Test("a join without an answer is repeated, and so is a stalled catch-up")
  func asksAgain() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let first = bench.welcome().request
    #expect(bench.wait(2_999).joins.isEmpty)
    let second = bench.wait(1).joins.first?.request
    #expect(second != nil && second != first)
    bench.hub(bench.heartbeat(1), bench.joined(second ?? 0, version: 5, follows: .snapshot))
    bench.hub(bench.chunk(second ?? 0, version: 5, [lit[0]], isLast: false))
    #expect(bench.session.nextDeadline <= bench.now + 3_000)
    #expect(bench.wait(3_000).joins.count == 1)
  }

  @Test("an answer to an earlier join is ignored")
  func earlierAnswer() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let first = bench.welcome().request
    let second = bench.wait(3_000).request
    #expect(bench.catchUp(first, version: 5, lit).updates.isEmpty)
    #expect(bench.catchUp(second, version: 5, lit).updates.count == 1)
  }

  @Test("a current replica stays as it is after a reconnect")
  func nothingFollows() {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    bench.lose()
    bench.open()
    let join = bench.welcome(knew: true).join
    #expect(join.epoch == 100 && join.version == 5)
    let drain = bench.hub(bench.assigned(join.request), bench.joined(join.request, version: 5, follows: .nothing))
    #expect(drain.changes.isEmpty && bench.shown("level") == "0.3")
    #expect(bench.session.isCurrent("lamp"))
  }

  @Test("models below a prefix are announced one by one, then listed; later ones follow as they appear")
  func prefix() {
    var bench = PeerBench()
    bench.open()
    bench.welcome()
    let asked = bench.act { session, now, output in session.joinPrefix("shop/", now: now, into: &output) }
    #expect(asked.joins.first?.form == .prefix)
    func announce(_ model: String, complete: Bool) -> HubMessage {
      .announce(
        Announce(
          session: bench.sessionID, request: asked.request, isComplete: complete,
          models: [AnnouncedModel(model: model, topic: PeerBench.lamp, version: 1, fields: 2)]))
    }
    let first = bench.hub(announce("shop/a", complete: false), announce("shop/b", complete: true))
    #expect(first.announced == ["shop/a", "shop/b"] && first.listed == ["shop/"])
    #expect(bench.hub(announce("shop/c", complete: false)).announced == ["shop/c"])
    _ = bench.act { session, _, _ in session.leavePrefix("shop/") }
    #expect(bench.hub(announce("shop/d", complete: false)).announced.isEmpty)
  }
}
