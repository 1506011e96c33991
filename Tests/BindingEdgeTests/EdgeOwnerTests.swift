import BindingHub
import BindingPeer
import BindingProtocol
import Simulation
import Testing

@Suite("Owners at an edge")
struct EdgeOwnerTests {
  private let stage = EdgeStage()

  private func owner(_ name: String) -> StagePeer { stage.join(name, models: ["lamp", Names.ephemeral("lamp")]) }

  private func claim(_ peer: StagePeer) {
    let claim = stage.write(peer, [.set(Names.owner, "true")], Names.ephemeral("lamp"))
    #expect(claim.flatMap { peer.outcomes[$0] }?.isCommitted == true)
  }

  @Test("a peer of the edge owns a model: it is asked about the writes of all, and its answer counts")
  func owner() {
    let (ann, ben, cat) = (owner("ann"), stage.join("ben", at: stage.home), stage.join("cat"))
    ann.answer = { $0.fields.contains { $0.value?.bytes == Array("9".utf8) } ? "too much" : nil }
    claim(ann)
    for peer in [ben, cat] {
      let (low, high) = (stage.write(peer, [.set("level", "1")]), stage.write(peer, [.set("level", "9")]))
      #expect(low.flatMap { peer.outcomes[$0] }?.isCommitted == true)
      guard let high, case .refused(let refusal)? = peer.outcomes[high] else {
        Issue.record("\(peer.outcomes)")
        continue
      }
      #expect(refusal.code == .refusedByOwner && refusal.text.contains("too much"))
    }
    #expect(ann.asked.map(\.origin.name) == ["ben", "ben", "cat", "cat"])
    ann.session.bye(now: stage.now, into: &ann.effects)
    stage.settle()
    let free = stage.write(ben, [.set("level", "9")])
    #expect(free.flatMap { ben.outcomes[$0] }?.isCommitted == true)
  }

  @Test("an owner at the edge that does not answer loses the model in time")
  func silentOwner() {
    let (ann, ben) = (owner("ann"), stage.join("ben", at: stage.home))
    claim(ann)
    let write = stage.write(ben, [.set("level", "1")])
    stage.advance(3_000)
    guard let write, case .refused(let refusal)? = ben.outcomes[write] else {
      Issue.record("\(ben.outcomes)")
      return
    }
    #expect(refusal.code == .ownerSilent)
  }
}
