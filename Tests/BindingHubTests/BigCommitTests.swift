import BindingHub
import BindingProtocol
import Testing

/// Commits past `maxPublishedBytes`.
@Suite struct BigCommitTests {
  var bench = HubBench()

  init() {
    bench.live(.ann)
    bench.live(.ben)
  }

  /// A `commits` of N bytes that sets `a`: 36 for itself, 12 for its origin, 2 for the name, 9 for the commit, 8
  /// for the change, the rest for its value.
  private mutating func commit(ofBytes count: Int) -> Received {
    bench.send(.ann, .propose([.of(1, [.set("a", text(ofBytes: count - 67))])]))
  }

  @Test("a commit of maxPublishedBytes is only published")
  mutating func atLimit() {
    let received = commit(ofBytes: 8_192)
    #expect(received.published.map(\.byteCount) == [HubHeader.byteCount + 8_192])
    #expect(received.commits(.connection(Speaker.ben.connection)).isEmpty)
  }

  @Test("a commit one byte larger goes to joined peers over their request connections; its head follows")
  mutating func pastLimit() {
    let received = commit(ofBytes: 8_193)
    // An immediate head would overtake the commit and make every peer ask for it a second time.
    #expect(received.published.isEmpty)
    #expect(bench.wait(1_000).heads().map(\.version) == [1])
    for peer in [Speaker.ann, .ben] {
      let frames = received.frames(to: peer).filter { $0.message.kind == .commits }
      #expect(frames.map(\.byteCount) == [HubHeader.byteCount + 8_193])
      #expect(frames.map(\.header.topic) == [HubBench.lamp])
    }
    #expect(bench.counters.routedCommits == 2)
  }

  @Test("a peer that has not joined the model does not get a large commit")
  mutating func notJoined() {
    bench.live(.cat, model: "fan", topic: HubBench.lamp + 1)
    #expect(commit(ofBytes: 9_000).frames(to: .cat).isEmpty)
  }

  @Test("two sessions of one connection get a large commit once")
  mutating func oneConnection() {
    var other = Speaker.cat
    other.connection = Speaker.ben.connection
    bench.live(other)
    #expect(commit(ofBytes: 9_000).commits(.connection(Speaker.ben.connection)).count == 1)
  }

  @Test("a peer that waits for its join answer gets a large commit only in that answer")
  mutating func joining() {
    bench.hello(.cat)
    bench.send(.cat, .join([Join(request: 1, model: "lamp")]))
    #expect(commit(ofBytes: 9_000).frames(to: .cat).isEmpty)
    let received = bench.subscribe(.cat, Topics.bytes(HubBench.lamp))
    #expect(ReadModel(received, for: .cat).values == ["a": text(ofBytes: 9_000 - 67)])
  }

  @Test("a peer that left the model does not get a large commit")
  mutating func left() {
    bench.send(.ben, .leave(Leave(topics: [HubBench.lamp])))
    #expect(commit(ofBytes: 9_000).frames(to: .ben).isEmpty)
  }
}
