import BindingHub
import BindingPeer
import BindingProtocol
import Simulation
import Testing

@Suite("Ephemeral models over the hubs of one log")
struct SiblingTests {
  private static let models = ["lamp", Names.ephemeral("lamp")]
  private static let ephemeral = Names.ephemeral("lamp")
  private let stage = SiblingStage()

  private func join(_ name: String, _ hub: Int, models: [String] = SiblingTests.models) -> StagePeer {
    stage.join(name, at: stage.hubs[hub], models: models)
  }

  private func write(_ peer: StagePeer, _ operations: FieldOperation...) {
    stage.write(peer, operations, SiblingTests.ephemeral)
  }

  @Test("what peers set at one hub is seen at all, and so is who is present")
  func seen() {
    let (ann, ben, cat) = (join("ann", 0), join("ben", 1), join("cat", 2))
    write(ann, .set("cursor-a", "1"))
    write(ben, .set("cursor-b", "2"), .set(Names.me, #"{"room":"attic"}"#))
    for peer in [ann, ben, cat] {
      #expect(stage.shown(peer) == ["cursor-a": "1 of ann", "cursor-b": "2 of ben"])
      #expect(stage.present(peer) == ["ann": "nothing", "ben": #"{"room":"attic"}"#, "cat": "nothing"])
    }
    write(ann, .set("cursor-a", "3"))
    write(ben, FieldOperation(.delete, "cursor-b"), .set(Names.me, "1"))
    for peer in [ann, ben, cat] {
      #expect(stage.shown(peer) == ["cursor-a": "3 of ann"] && stage.present(peer)["ben"] == "1")
    }
  }

  @Test("peers that follow nobody's presence are present for those at other hubs that do")
  func unwatched() {
    let watcher = join("watcher", 0)
    _ = join("reader", 1, models: ["lamp"])
    #expect(stage.present(watcher) == ["reader": "nothing", "watcher": "nothing"])
    let late = join("late", 2, models: [SiblingTests.ephemeral])
    #expect(stage.present(late) == ["reader": "nothing", "watcher": "nothing"])
  }

  @Test("a field that a peer of another hub holds is refused, until that peer gives it up")
  func held() {
    let (ann, ben) = (join("ann", 0), join("ben", 1))
    write(ann, .set("seat", #""ann""#))
    let refused = stage.write(ben, [.set("seat", #""ben""#)], SiblingTests.ephemeral)
    guard let refused, case .refused(let refusal)? = ben.outcomes[refused] else {
      Issue.record("\(ben.outcomes)")
      return
    }
    #expect(refusal.code == .notOwner)
    write(ann, FieldOperation(.delete, "seat"))
    write(ben, .set("seat", #""ben""#))
    #expect(stage.shown(ann) == ["seat": #""ben" of ben"#])
  }

  @Test("a peer that leaves is gone everywhere, and so are its fields")
  func leaves() {
    let (ann, ben) = (join("ann", 0), join("ben", 1))
    write(ann, .set("cursor", "1"))
    ann.session.bye(now: stage.now, into: &ann.effects)
    stage.settle()
    #expect(stage.shown(ben).isEmpty && stage.present(ben) == ["ben": "nothing"])
  }

  @Test("a peer that goes to another hub keeps its fields: nobody sees them vanish, and what it sets there counts")
  func moves() {
    let (ann, ben, cat) = (join("ann", 0), join("ben", 1), join("cat", 2))
    write(ann, .set("cursor", "1"), .set("still", "5"), .set(Names.me, "7"))
    stage.look = { [stage] name, peer in
      guard name == "cat" else { return nil }
      let isWhole = stage.shown(peer).count == 2 && stage.present(peer)["ann"] == "7"
      return isWhole ? nil : "of ann there is only \(stage.shown(peer)) and \(stage.present(peer))"
    }
    stage.move(ann, to: stage.hubs[1])
    write(ann, .set("cursor", "2"))
    let shown = ["cursor": "2 of ann", "still": "5 of ann"]
    for peer in [ann, ben, cat] { #expect(stage.shown(peer) == shown) }
    // The hub that it has left takes it for gone in the end.
    stage.advance(15_000)
    for peer in [ann, ben, cat] {
      #expect(stage.shown(peer) == shown)
      #expect(stage.present(peer) == ["ann": "7", "ben": "nothing", "cat": "nothing"])
    }
    #expect(stage.problems.isEmpty, "\(stage.problems)")
  }

  @Test("a peer that has gone to another hub shows what it sets there, also to a hub that asks both for the first time")
  func movesLate() {
    let ann = join("ann", 0)
    write(ann, .set("cursor", "1"))
    stage.move(ann, to: stage.hubs[1])
    write(ann, .set("cursor", "2"))
    stage.look = { [stage] name, peer in
      let isRight = stage.shown(peer)["cursor"] == "2 of ann" || !peer.session.isCurrent(SiblingTests.ephemeral)
      return isRight ? nil : "\(name) sees \(stage.shown(peer))"
    }
    let cat = join("cat", 2)
    stage.advance(15_000)
    for peer in [ann, cat] { #expect(stage.shown(peer) == ["cursor": "2 of ann"]) }
    #expect(stage.problems.isEmpty, "\(stage.problems)")
  }

  @Test("a killed hub's peers are gone once their lease is over, and those who went elsewhere are not")
  func killed() {
    let (ann, ben, cat) = (join("ann", 0), join("ben", 0), join("cat", 1))
    write(ann, .set("a", "1"))
    write(ben, .set("b", "2"))
    stage.stop(0, peersTo: 2)
    ben.session.bye(now: stage.now, into: &ben.effects)
    stage.advance(3_000)
    #expect(stage.shown(cat)["a"] == "1 of ann")
    stage.advance(12_000)
    #expect(stage.shown(cat) == ["a": "1 of ann"] && stage.present(cat) == ["ann": "nothing", "cat": "nothing"])
    stage.restart(0)
    stage.goOn(0)
    stage.advance(3_000)
    let dan = join("dan", 0)
    #expect(stage.shown(dan) == ["a": "1 of ann"])
    #expect(stage.present(cat) == ["ann": "nothing", "cat": "nothing", "dan": "nothing"])
  }

  @Test("a short cut between hubs is not seen, and one of two claims made during it remains everywhere")
  func cut() {
    let (ann, ben) = (join("ann", 0), join("ben", 1))
    write(ann, .set("a", "1"))
    for (from, to) in [(0, 1), (1, 0)] { stage.cut(from, to) }
    stage.advance(3_000)
    write(ann, .set("seat", "1"))
    write(ben, .set("seat", "2"))
    #expect(stage.shown(ben)["a"] == "1 of ann")
    for (from, to) in [(0, 1), (1, 0)] { stage.cut(from, to, false) }
    stage.advance(8_000)
    let first = ann.session.identity.tag < ben.session.identity.tag
    for peer in [ann, ben] {
      #expect(stage.shown(peer) == ["a": "1 of ann", "seat": first ? "1 of ann" : "2 of ben"])
    }
  }

  @Test("what comes from another hub just after the last peer here has left is there for the next one")
  func comesBetweenPeers() {
    let (ann, ben) = (join("ann", 0), join("ben", 1))
    write(ann, .set("cursor", "1"))
    #expect(stage.shown(ben) == ["cursor": "1 of ann"])
    stage.cut(1, 0)
    stage.cut(0, 1)
    stage.advance(25_000)
    #expect(stage.shown(ben).isEmpty && stage.present(ben) == ["ben": "nothing"])
    ben.session.bye(now: stage.now, into: &ben.effects)
    stage.advance(1_500)
    stage.cut(1, 0, false)
    stage.advance(500)
    let cat = join("cat", 1)
    #expect(stage.shown(cat) == ["cursor": "1 of ann"])
    #expect(stage.present(cat) == ["ann": "nothing", "cat": "nothing"])
  }

  @Test("what nobody follows any more is not kept: 60 times over, with new peers each time, nothing is left")
  func nothingIsLeft() {
    let keeper = join("keeper", 0, models: ["lamp"])
    for round in 0..<60 {
      let (one, other) = (join("one-\(round)", 0), join("other-\(round)", 1))
      write(one, .set("f-\(round)", "1"))
      #expect(stage.shown(other) == ["f-\(round)": "1 of one-\(round)"])
      for peer in [one, other] { peer.session.bye(now: stage.now, into: &peer.effects) }
      stage.settle()
    }
    stage.advance(20_000)
    for hub in stage.hubs {
      #expect(hub.machine.ephemeralCounts == .zero, "\(hub.machine.ephemeralCounts)")
    }
    #expect(keeper.session.isCurrent("lamp"))
  }
}
