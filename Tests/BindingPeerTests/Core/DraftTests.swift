import BindingPeer
import BindingProtocol
import Testing

@Suite("Drafts of the protocol")
struct DraftTests {
  private func notices(of capabilities: [String]) -> [Notice] {
    var bench = PeerBench()
    bench.capabilities = capabilities
    bench.open()
    return bench.welcome().notices
  }

  @Test("a hub of another draft is reported, and the session is live all the same")
  func other() {
    var bench = PeerBench()
    bench.capabilities = [Capability.applied, "draft-00c0ffee"]
    bench.open()
    #expect(bench.welcome().notices == [.otherDraft("draft-00c0ffee")])
    #expect(bench.session.phase == .live)
  }

  @Test("a hub of the same draft, or of a release that names none, is not reported")
  func same() {
    #expect(notices(of: Capability.all).isEmpty)
    #expect(notices(of: []).isEmpty)
  }

  @Test("a hello names the draft")
  func hello() {
    var bench = PeerBench()
    #expect(bench.open().hellos.first?.capabilities.contains(Capability.draft) == true)
  }
}
