import BindingEdge
import BindingHub
import BindingPeer
import BindingProtocol
import Simulation
import Testing

@Suite("Writing through an edge")
struct EdgeWritingTests {
  private let stage = EdgeStage()

  @Test("a write is committed upstream under its writer's own name, and everybody sees it")
  func writes() throws {
    let writer = stage.join("writer")
    let home = stage.join("home", at: stage.home)
    let write = try #require(stage.write(writer, [.set("level", "1")]))
    #expect(writer.outcomes[write]?.isCommitted == true)
    #expect(stage.value(home, "level") == "1")
    #expect(home.session.fieldRecord("lamp", "level")?.origin == writer.session.identity.origin)
    #expect(stage.isEqual())
  }

  @Test("an outcome never comes before the upstream hub's")
  func neverAcknowledgesItself() throws {
    let writer = stage.join("writer")
    stage.forge = { $0[4] == HubMessageKind.outcomes.rawValue || $0[4] == HubMessageKind.commits.rawValue ? nil : $0 }
    let write = try #require(stage.write(writer, [.set("level", "1")]))
    stage.advance(900)
    #expect(writer.outcomes[write] == nil)
    stage.forge = { $0 }
    stage.advance(6_000)
    #expect(writer.outcomes[write]?.isCommitted == true && stage.isEqual())
  }

  @Test("writes wait while the uplink is lost, and are carried out once, in order")
  func waits() throws {
    let writer = stage.join("writer")
    stage.write(writer, [.add("count", "1")])
    stage.stopHome()
    let writes = (0..<10).compactMap { _ in stage.write(writer, [.add("count", "1")]) }
    stage.advance(2_000)
    #expect(writes.allSatisfy { writer.outcomes[$0] == nil })
    #expect(writer.retries.contains(.upstream))
    #expect(stage.value(writer, "count") == "11", "they show here")
    stage.restoreHome()
    #expect(writes.allSatisfy { writer.outcomes[$0]?.isCommitted == true })
    #expect(stage.value(writer, "count") == "11" && stage.isEqual())
  }

  @Test("a write whose outcome was lost with the uplink counts once", arguments: 1...3)
  func onceOverLoss(_ writes: Int) throws {
    let writer = stage.join("writer")
    stage.write(writer, [.add("count", "1")])
    stage.forge = { _ in nil }
    let lost = (0..<writes).compactMap { _ in stage.write(writer, [.add("count", "1")]) }
    stage.loseUplink()
    stage.forge = { $0 }
    stage.advance(3_000)
    #expect(lost.allSatisfy { writer.outcomes[$0]?.isCommitted == true })
    #expect(stage.value(writer, "count") == "\(1 + writes)" && stage.isEqual())
  }

  @Test("a peer that comes back to an edge with a write in flight sees it once, and never twice", arguments: [1, 3])
  func resumes(_ writes: Int) throws {
    let (writer, other) = (stage.join("writer"), stage.join("other"))
    for number in 1...writes {
      // The edge's replica has the effect, and its peer does not know.
      let write = try #require(stage.writeAndLose(writer, [.add("count", "1")]))
      #expect(stage.value(other, "count") == "\(number)" && writer.outcomes[write] == nil)
      for _ in 0..<60 {
        stage.advance(50)
        #expect(stage.value(writer, "count") == "\(number)")
      }
      #expect(writer.outcomes[write]?.isCommitted == true)
    }
  }

  @Test("the edge is killed: its peers come back, and every write counts once")
  func edgeKilled() throws {
    let writer = stage.join("writer")
    stage.write(writer, [.add("count", "1")])
    stage.forge = { $0[4] == HubMessageKind.outcomes.rawValue || $0[4] == HubMessageKind.commits.rawValue ? nil : $0 }
    let write = try #require(stage.write(writer, [.add("count", "1")]))
    stage.forge = { $0 }
    stage.restartEdge()
    #expect(writer.outcomes[write]?.isCommitted == true)
    #expect(stage.value(writer, "count") == "2" && stage.isEqual())
  }

  @Test("a resuming peer's join is asked upstream; a reader's is not")
  func asksUpstream() {
    let writer = stage.join("writer")
    stage.write(writer, [.set("level", "1")])
    let opened = stage.uplink.counters.openedWriters
    #expect(opened == 1)
    stage.join("reader")
    #expect(stage.uplink.counters.openedWriters == opened)
    let joins = stage.uplinkSent(.join)
    stage.lose(writer)
    stage.advance(1_500)
    #expect(stage.uplinkSent(.join) == joins + 1 && stage.uplink.counters.openedWriters == opened + 1)
  }

  @Test("a writer that rests costs the upstream hub no session, and writes on under its name")
  func restingWriters() throws {
    let writer = stage.join("writer")
    stage.write(writer, [.add("count", "1")])
    #expect(stage.home.machine.sessionCount == 2)
    stage.advance(60_000)
    #expect(stage.home.machine.sessionCount == 1 && stage.uplink.counters.idleWriters == 1)
    let write = try #require(stage.write(writer, [.add("count", "1")]))
    #expect(writer.outcomes[write]?.isCommitted == true && stage.value(writer, "count") == "2")
  }

  @Test("conditions, conflicts, refusals and descriptions pass unchanged")
  func passes() throws {
    let (writer, home) = (stage.join("writer"), stage.join("home", at: stage.home))
    stage.write(home, [.set("level", "1")])
    let version = writer.session.version(of: "lamp")
    stage.write(home, [.set("level", "2")])
    let proposal = Proposal(
      operations: [.set("level", "3")],
      conditions: [Condition(field: "level", epoch: version.epoch, version: version.version)])
    let write = try writer.session.write(proposal, to: "lamp", now: stage.now, into: &writer.effects)
    stage.settle()
    guard case .conflict(let conflict)? = writer.outcomes[write] else {
      Issue.record("\(String(describing: writer.outcomes[write]))")
      return
    }
    #expect(conflict.field == "level" && conflict.origin == home.session.identity.origin)
    let description = #"{"fields":{"level":{"type":"number","max":5}}}"#
    stage.write(home, [.set("@description", description)])
    let refused = try #require(stage.write(writer, [.set("level", "7")]))
    guard case .refused(let refusal)? = writer.outcomes[refused] else {
      Issue.record("another answer")
      return
    }
    #expect(refusal.code == .doesNotFit && refusal.text.contains("lamp.level"))
    let next = try #require(stage.write(writer, [.set("level", "4")]))
    #expect(writer.outcomes[next]?.isCommitted == true && stage.isEqual())
  }

  @Test("an upstream hub that invents outcomes ends no write of a peer, and one for another's number is dropped")
  func forgedOutcomes() throws {
    let writer = stage.join("writer")
    stage.write(writer, [.set("level", "1")])
    stage.forge = { frame in
      guard frame[4] == HubMessageKind.outcomes.rawValue,
        case (let header, .outcomes(let outcomes))? = try? HubMessage.decode(frame)
      else { return frame[4] == HubMessageKind.commits.rawValue ? nil : frame }
      var forged = outcomes
      forged.outcomes = outcomes.outcomes.map { WireOutcome(topic: $0.topic, number: $0.number + 40, .unchanged) }
      return HubMessage.outcomes(forged).encode(start: header.start)
    }
    let write = try #require(stage.write(writer, [.set("level", "2")]))
    #expect(writer.outcomes[write] == nil && stage.uplink.counters.unaskedOutcomes > 0)
    stage.forge = { $0 }
    stage.advance(6_000)
    #expect(writer.outcomes[write]?.isCommitted == true)
  }

  @Test("a peer with another's tag is refused by the edge, and the owner of the tag is not disturbed")
  func stolenTag() throws {
    let writer = stage.join("writer")
    stage.write(writer, [.set("level", "1")])
    let stolen = Identity(tag: writer.session.identity.tag, secret: Secret(high: 1, low: 2), name: "thief")
    let hello = PeerMessage.hello(Hello(identity: stolen, isResuming: true)).encode(session: 4_711, start: 0)
    stage.edge.act(stage.now) { machine, time, output in
      hello.withUnsafeBytes { machine.receive($0, on: 7_777, time: time, into: &output) }
    }
    let answers = stage.edge.take(7_777).compactMap { try? HubMessage.decode($0).message }
    guard case .error(let error)? = answers.first else {
      Issue.record("another answer")
      return
    }
    #expect(error.code == .notYours && answers.count == 1)
    stage.settle()
    let write = try #require(stage.write(writer, [.set("level", "2")]))
    #expect(writer.outcomes[write]?.isCommitted == true)
  }

  @Test("a hundred writers and two hundred readers share one uplink")
  func manyPeers() throws {
    let readers = (0..<200).map { stage.join("reader-\($0)") }
    let writers = (0..<100).map { stage.join("writer-\($0)") }
    let writes = writers.map { stage.write($0, [.add("count", "1")]) }
    for (writer, write) in zip(writers, writes) {
      #expect(writer.outcomes[try #require(write)]?.isCommitted == true)
    }
    #expect(readers.allSatisfy { stage.value($0, "count") == "100" })
    #expect(stage.home.machine.sessionCount == 101)
    stage.loseUplink()
    let again = writers.map { stage.write($0, [.add("count", "1")]) }
    stage.advance(5_000)
    for (writer, write) in zip(writers, again) {
      #expect(writer.outcomes[try #require(write)]?.isCommitted == true)
    }
    #expect(stage.value(readers[0], "count") == "200" && stage.isEqual())
  }

  @Test("an edge that would follow itself is refused in words")
  func ring() throws {
    let number = UInt64(99)
    let hello = Hello(
      identity: Identity(secret: Secret(high: 8, low: 8), name: "edge"), capabilities: [Capability.edge(number)])
    let frame = PeerMessage.hello(hello).encode(session: 4_712, start: 0)
    stage.edge.act(stage.now) { machine, time, output in
      frame.withUnsafeBytes { machine.receive($0, on: 8_888, time: time, into: &output) }
    }
    let answer = stage.edge.take(8_888).compactMap { try? HubMessage.decode($0).message }.first
    guard case .error(let error)? = answer else {
      Issue.record("another answer")
      return
    }
    #expect(error.code == .notPermitted && error.isFatal && error.text.contains("the edge itself"))
  }
}
