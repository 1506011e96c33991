import BindingEdge
import BindingHub
import BindingPeer
import BindingProtocol
import Simulation
import Testing

@Suite("Barriers through an edge")
struct EdgeBarrierTests {
  private let stage = EdgeStage()

  /// Peers at both hubs, and the version of a write of the one upstream.
  private func peers() -> (home: StagePeer, writer: StagePeer, reader: StagePeer, version: Version) {
    let (home, writer, reader) = (stage.join("home", at: stage.home), stage.join("writer"), stage.join("reader"))
    stage.write(writer, [.set("level", "1")])
    stage.write(home, [.set("level", "2")])
    return (home, writer, reader, home.session.version(of: "lamp").version)
  }

  @Test("a barrier counts the peers of the edge, each once, whether it is asked upstream or at the edge")
  func counts() {
    let (home, writer, reader, version) = peers()
    for peer in [home, writer, reader] {
      let barrier = stage.wait(peer, version)
      #expect(peer.barriers[barrier] == .applied(3))
      let three = stage.wait(peer, version, count: 3)
      #expect(peer.barriers[three] == .applied(3))
      let four = stage.wait(peer, version, count: 4, timeout: 2_000)
      stage.advance(3_500)
      guard case .missing(_, applied: 3, of: 4)? = peer.barriers[four] else {
        Issue.record("\(String(describing: peer.barriers[four]))")
        continue
      }
    }
  }

  @Test("a peer of the edge that has not applied a version is named upstream")
  func names() {
    let (home, _, reader, _) = peers()
    reader.isDeaf = true
    stage.write(home, [.set("level", "3")])
    let barrier = stage.wait(home, home.session.version(of: "lamp").version, timeout: 2_000)
    stage.advance(3_500)
    #expect(home.barriers[barrier] == .missing(["reader"], applied: 2, of: 3))
  }

  @Test("a barrier at an edge survives the loss of the uplink, and the edge's peers count again after one")
  func survives() {
    let (home, writer, reader, version) = peers()
    stage.stopHome()
    let barrier = stage.wait(writer, version)
    #expect(writer.barriers[barrier] == nil)
    stage.restoreHome()
    stage.advance(3_000)
    #expect(writer.barriers[barrier] == .applied(3))
    reader.isDeaf = true
    stage.write(home, [.set("level", "4")])
    let waiting = stage.wait(home, home.session.version(of: "lamp").version)
    stage.loseUplink()
    stage.advance(4_000)
    #expect(home.barriers[waiting] == nil, "the reader of the edge has not got it")
    reader.isDeaf = false
    stage.lose(reader)
    stage.advance(4_000)
    #expect(home.barriers[waiting] != nil)
  }

  @Test("leaving a model at an edge ends its barriers upstream too")
  func leaves() {
    let (_, writer, reader, version) = peers()
    let barrier = stage.wait(reader, version + 9)
    reader.session.leave("lamp", now: stage.now, into: &reader.effects)
    stage.settle()
    #expect(reader.barriers[barrier] == .notJoined)
    #expect(stage.edge.machine.passedBarriers == 0)
    let next = stage.wait(writer, version)
    #expect(writer.barriers[next] == .applied(2))
  }
}
