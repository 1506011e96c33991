import BindingEdge
import BindingHub
import BindingPeer
import BindingProtocol
import Simulation
import Testing

@Suite("History through an edge")
struct EdgeHistoryTests {
  private let stage = EdgeStage()

  private func writers() -> (home: StagePeer, away: StagePeer) {
    let (home, away) = (stage.join("home", at: stage.home), stage.join("away"))
    for number in 1...3 {
      stage.write(home, [.set("level", "\(number)")])
      stage.write(away, [.add("count", "1")])
    }
    return (home, away)
  }

  /// A page that a peer has got, without what is its own.
  private func page(_ peer: StagePeer, _ id: HistoryID) -> PastPage? {
    guard case .page(var page)? = peer.pages[id] else { return nil }
    (page.session, page.request) = (0, 0)
    return page
  }

  @Test("a page at the edge is that of the upstream hub, with its writers")
  func same() throws {
    let (home, away) = writers()
    let here = try #require(page(away, stage.askHistory(away)))
    #expect(here == page(home, stage.askHistory(home)))
    #expect(here.commits.map(\.version) == [6, 5, 4, 3, 2, 1])
    #expect(here.commits.map(\.origin.name) == ["away", "home", "away", "home", "away", "home"])
    let short = try #require(page(away, stage.askHistory(away, count: 2)))
    #expect(short.end == .more && short.commits.map(\.version) == [6, 5])
  }

  @Test("several peers of the edge are answered, each its own request")
  func several() {
    let (_, away) = writers()
    let other = stage.join("other")
    stage.loseUplink()
    let (one, two) = (stage.askHistory(away, count: 1), stage.askHistory(other, count: 4))
    #expect(away.pages[one] == nil && other.pages[two] == nil)
    stage.advance(4_000)
    #expect(page(away, one)?.commits.count == 1)
    #expect(page(other, two)?.commits.count == 4)
  }

  @Test("what is asked while the upstream hub is not reached is answered once it is, however often it is asked again")
  func waits() {
    let (_, away) = writers()
    stage.stopHome()
    let asked = stage.askHistory(away)
    // The peer asks again every three seconds.
    stage.advance(10_000)
    #expect(away.pages[asked] == nil)
    stage.restoreHome()
    stage.advance(3_000)
    #expect(page(away, asked)?.commits.count == 6)
    #expect(stage.home.machine.counters.historyPages == 1)
  }

  @Test("the request of a peer that has gone is not answered to the next one")
  func gone() {
    let (_, away) = writers()
    stage.stopHome()
    let asked = stage.askHistory(away)
    away.session.leave("lamp", now: stage.now, into: &away.effects)
    stage.settle()
    #expect(away.pages[asked] == .notJoined)
    stage.restoreHome()
    stage.advance(4_000)
    #expect(stage.home.machine.counters.historyPages == 0)
  }
}
