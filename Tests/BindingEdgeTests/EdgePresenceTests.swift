import BindingEdge
import BindingHub
import BindingPeer
import BindingProtocol
import Simulation
import Testing

@Suite("Ephemeral models through an edge")
struct EdgePresenceTests {
  private static let models = ["lamp", ephemeral]
  private static let ephemeral = Names.ephemeral("lamp")
  private let stage = EdgeStage()

  @discardableResult
  private func join(_ name: String, upstream: Bool = false, models: [String] = EdgePresenceTests.models) -> StagePeer {
    stage.join(name, at: upstream ? stage.home : stage.edge, models: models)
  }

  @discardableResult
  private func write(_ peer: StagePeer, _ operations: FieldOperation...) -> Outcome? {
    stage.write(peer, operations, EdgePresenceTests.ephemeral).flatMap { peer.outcomes[$0] }
  }

  private func bye(_ peer: StagePeer) {
    peer.session.bye(now: stage.now, into: &peer.effects)
    stage.settle()
  }

  // MARK: Fields

  @Test("what peers set at the edge and upstream is seen at both, and so is who is present")
  func seen() {
    let (ann, ben, cat) = (join("ann"), join("ben", upstream: true), join("cat"))
    #expect(ann.session.welcome?.capabilities.contains(Capability.ephemeral) == true)
    #expect(write(ann, .set("cursor-a", "1"))?.isCommitted == true)
    write(ben, .set("cursor-b", "2"), .set(Names.me, #"{"room":"attic"}"#))
    write(cat, .set(Names.me, "3"))
    for peer in [ann, ben, cat] {
      #expect(stage.shown(peer) == ["cursor-a": "1 of ann", "cursor-b": "2 of ben"])
      #expect(stage.present(peer) == ["ann": "nothing", "ben": #"{"room":"attic"}"#, "cat": "3"])
    }
    write(ann, .set("cursor-a", "3"))
    write(ben, FieldOperation(.delete, "cursor-b"), .set(Names.me, "1"))
    for peer in [ann, ben, cat] {
      #expect(stage.shown(peer) == ["cursor-a": "3 of ann"] && stage.present(peer)["ben"] == "1")
    }
  }

  @Test("a field belongs to its writer, whether that is at the edge or upstream", arguments: [false, true])
  func held(_ isUpstream: Bool) {
    let (ann, ben) = (join("ann", upstream: isUpstream), join("ben", upstream: !isUpstream))
    write(ann, .set("seat", #""ann""#))
    guard case .refused(let refusal)? = write(ben, .set("seat", #""ben""#)) else {
      Issue.record("\(ben.outcomes)")
      return
    }
    #expect(refusal.code == .notOwner)
    write(ann, FieldOperation(.delete, "seat"))
    #expect(write(ben, .set("seat", #""ben""#))?.isCommitted == true)
    #expect(stage.shown(ann) == ["seat": #""ben" of ben"#])
  }

  @Test("a condition on what an ephemeral field was holds at the edge as it does upstream")
  func conditions() throws {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    for value in 1...3 { write(ben, .set("other", "\(value)")) }
    write(ann, .set("cursor", "1"))
    let place = ann.session.version(of: EdgePresenceTests.ephemeral)
    func proposal(_ value: String) -> Proposal {
      Proposal(
        operations: [.set("cursor", value)],
        conditions: [Condition(field: "cursor", epoch: place.epoch, version: place.version)])
    }
    func writeIf(_ value: String) throws -> Outcome? {
      let id = try ann.session.write(
        proposal(value), to: EdgePresenceTests.ephemeral, now: stage.now, into: &ann.effects)
      stage.settle()
      return ann.outcomes[id]
    }
    #expect(try writeIf("2")?.isCommitted == true)
    guard case .conflict(let conflict)? = try writeIf("3") else {
      Issue.record("\(ann.outcomes)")
      return
    }
    #expect(conflict.version == ann.session.version(of: EdgePresenceTests.ephemeral).version)
  }

  // MARK: Coming and going

  @Test("a peer of the edge that leaves is gone everywhere at once, and so are its fields")
  func leaves() {
    let (ann, ben, cat) = (join("ann"), join("ben", upstream: true), join("cat"))
    write(ann, .set("cursor", "1"))
    bye(ann)
    for peer in [ben, cat] {
      #expect(stage.shown(peer).isEmpty && stage.present(peer) == ["ben": "nothing", "cat": "nothing"])
    }
  }

  @Test("so is one that is silent for its lease, no later than at the upstream hub itself")
  func silent() {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    write(ann, .set("cursor", "1"))
    ann.isStopped = true
    stage.advance(9_000)
    #expect(stage.shown(ben) == ["cursor": "1 of ann"])
    stage.advance(2_500)
    #expect(stage.shown(ben).isEmpty && stage.present(ben) == ["ben": "nothing"])
  }

  @Test("a peer that leaves the ephemeral model alone takes its fields with it")
  func leavesOne() {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    write(ann, .set("cursor", "1"))
    ann.session.leave(EdgePresenceTests.ephemeral, now: stage.now, into: &ann.effects)
    stage.settle()
    #expect(stage.shown(ben).isEmpty)
  }

  @Test("a peer whose link breaks keeps its fields and its place: nobody sees them vanish", arguments: [false, true])
  func comesBack(_ isUpstream: Bool) {
    let (ann, ben) = (join("ann"), join("ben", upstream: isUpstream))
    write(ann, .set("cursor", "1"), .set(Names.me, "7"))
    stage.look = { [stage] name, peer in
      guard name == "ben" else { return nil }
      let isWhole = stage.shown(peer).count == 1 && stage.present(peer)["ann"] == "7"
      return isWhole ? nil : "of ann there is only \(stage.shown(peer)) and \(stage.present(peer))"
    }
    stage.lose(ann)
    stage.advance(6_000)
    stage.move(ann, to: stage.home)
    stage.advance(6_000)
    stage.move(ann, to: stage.edge)
    stage.advance(15_000)
    write(ann, .set("cursor", "2"))
    #expect(stage.shown(ben) == ["cursor": "2 of ann"])
    #expect(stage.problems.isEmpty, "\(stage.problems)")
  }

  @Test("a peer that only looks stays present for as long as it is there")
  func idle() {
    let (_, ben) = (join("ann"), join("ben", upstream: true))
    stage.advance(120_000)
    #expect(stage.present(ben) == ["ann": "nothing", "ben": "nothing"])
  }

  @Test("peers of the edge that look at nobody's presence are not shown; readers have no session upstream")
  func readers() {
    let ben = join("ben", upstream: true)
    for number in 0..<20 { join("reader-\(number)", models: ["lamp"]) }
    #expect(stage.home.machine.sessionCount == 2, "ben and the edge")
    stage.write(join("writer", models: ["lamp"]), [.set("level", "1")])
    #expect(stage.present(ben) == ["ben": "nothing"])
  }

  @Test("a peer is present from its second join on, whichever of the two models is first", arguments: [false, true])
  func inAnyOrder(_ isStoredFirst: Bool) {
    let ben = join("ben", upstream: true)
    let models = isStoredFirst ? EdgePresenceTests.models : EdgePresenceTests.models.reversed()
    let ann = join("ann", models: [models[0]])
    stage.advance(1_000)
    ann.session.join(models[1], now: stage.now, into: &ann.effects)
    stage.settle()
    for peer in [ann, ben] { #expect(stage.present(peer) == ["ann": "nothing", "ben": "nothing"]) }
  }

  // MARK: The uplink

  @Test("after a short loss of the uplink nothing has vanished, and writes of meanwhile arrive")
  func shortLoss() {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    write(ann, .set("cursor", "1"), .set(Names.me, "7"))
    stage.stopHome()
    write(ann, .set("cursor", "2"))
    stage.restoreHome()
    for peer in [ann, ben] {
      #expect(stage.shown(peer) == ["cursor": "2 of ann"])
      #expect(stage.present(peer) == ["ann": "7", "ben": "nothing"])
    }
  }

  @Test("after a loss beyond the lease the edge's peers are present again, with what they have")
  func longLoss() {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    write(ann, .set("cursor", "1"), .set(Names.me, "7"))
    stage.uplinkAnswers = false
    stage.advance(25_000)
    #expect(stage.shown(ben).isEmpty && stage.present(ben) == ["ben": "nothing"])
    stage.uplinkAnswers = true
    stage.advance(6_000)
    for peer in [ann, ben] {
      #expect(stage.shown(peer) == ["cursor": "1 of ann"])
      #expect(stage.present(peer) == ["ann": "7", "ben": "nothing"])
    }
  }

  @Test("a peer that has gone to the upstream hub while the uplink was lost keeps its session there")
  func goneElsewhere() {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    write(ann, .set("cursor", "1"))
    stage.uplinkAnswers = false
    stage.move(ann, to: stage.home)
    #expect(write(ann, .set("cursor", "2"))?.isCommitted == true)
    stage.uplinkAnswers = true
    stage.advance(20_000)
    #expect(ann.session.phase == .live)
    #expect(stage.shown(ben) == ["cursor": "2 of ann"] && stage.present(ben).keys.sorted() == ["ann", "ben"])
  }

  @Test("after a restart of the upstream hub all have what they had, again and again, and no version goes back")
  func restarts() {
    let (ann, ben, cat) = (join("ann"), join("ben", upstream: true), join("cat"))
    for round in 1...3 {
      for value in 1...round { write(ann, .set("cursor", "\(round * 10 + value)")) }
      write(ben, .set("other", "\(round)"))
      let before = cat.session.version(of: EdgePresenceTests.ephemeral)
      stage.restartHome()
      stage.advance(6_000)
      let after = cat.session.version(of: EdgePresenceTests.ephemeral)
      #expect(after.epoch == before.epoch && after.version > before.version)
      for peer in [ann, ben, cat] {
        #expect(stage.shown(peer) == ["cursor": "\(round * 11) of ann", "other": "\(round) of ben"])
        #expect(stage.present(peer).keys.sorted() == ["ann", "ben", "cat"])
      }
      #expect(write(ann, .set("cursor", "0"))?.isCommitted == true && stage.shown(ben)["cursor"] == "0 of ann")
    }
  }

  @Test("after a restart of the edge too")
  func edgeRestarts() {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    write(ann, .set("cursor", "1"))
    stage.restartEdge()
    stage.advance(3_000)
    for peer in [ann, ben] {
      #expect(stage.shown(peer) == ["cursor": "1 of ann"] && stage.present(peer).keys.sorted() == ["ann", "ben"])
    }
  }

  @Test("an ephemeral model that is not used for a while is joined anew, and shows what is there now")
  func unused() {
    let (ann, ben) = (join("ann"), join("ben", upstream: true))
    write(ben, .set("cursor", "1"))
    bye(ann)
    stage.advance(40_000)
    write(ben, .set("cursor", "2"))
    let cat = join("cat")
    #expect(stage.shown(cat) == ["cursor": "2 of ben"] && stage.present(ben).keys.sorted() == ["ben", "cat"])
  }

  // MARK: Older hubs

  @Test("an edge of a hub without ephemeral models refuses them in words that name it")
  func without() {
    let bare = EdgeStage()
    bare.forge = { frame in
      guard case (let header, .welcome(var welcome))? = try? HubMessage.decode(frame) else { return frame }
      welcome.capabilities.removeAll { $0 == Capability.ephemeral }
      return HubMessage.welcome(welcome).encode(start: header.start)
    }
    bare.loseUplink()
    bare.advance(3_000)
    let ann = bare.join("ann")
    #expect(ann.session.welcome?.capabilities.contains(Capability.ephemeral) == false)
  }
}
