import BindingProtocol
import Testing

@testable import BindingHub

@Suite("The comparison of replicas with the hub")
struct VerificationTests {
  private let asker: ConnectionID = 700

  private func bench(_ configure: (inout HubMachineConfiguration) -> Void = { _ in }) -> HubBench {
    var bench = HubBench(configure)
    for peer in [Speaker.ann, .ben] { bench.reporting(peer) }
    bench.write(.ann, 1, .set("level", "0.5"))
    return bench
  }

  private func verify(
    _ bench: inout HubBench, names: [String] = [], after: Topic = Topics.none, timeoutMilliseconds: UInt32 = 2_000,
    on connection: ConnectionID? = nil
  ) -> Received {
    let question = PeerMessage.verify(Verify(timeoutMilliseconds: timeoutMilliseconds, after: after, names: names))
    return bench.deliver([question.encode(session: 0, start: 0)], on: connection ?? asker)
  }

  private func report(_ received: Received) throws -> JSON? {
    for frame in received.frames where frame.destination == .connection(asker) {
      if case .statusReport(let report) = frame.message { return try report.json.json }
    }
    return nil
  }

  private func digest(_ bench: HubBench, _ model: String = "lamp") throws -> UInt64 {
    try #require(bench.machine.head(of: model)).digest
  }

  @Test("what several hubs find is one: peers add up, and a hub with other values at a version differs")
  func sum() {
    func finding(_ version: Version, _ digest: String, equal: Int, silent: [String] = []) -> HubVerification.Finding {
      HubVerification.Finding(
        model: "lamp", version: version, digest: digest, equal: equal, different: [], silent: silent, unable: [])
    }
    let other = HubVerification.Finding(
      model: "fan", version: 1, digest: "c", equal: 1, different: ["x"], silent: [], unable: ["y"])
    func sum(_ second: HubVerification.Finding) -> [HubVerification.Finding] {
      HubVerification.sum([
        (HubAddress(tcp: "10.0.0.1", port: 1), [finding(7, "a", equal: 2, silent: ["p"])]),
        (HubAddress(tcp: "10.0.0.2", port: 2), [second, other]),
      ])
    }
    #expect(sum(finding(8, "b", equal: 3)) == [other, finding(8, "b", equal: 5, silent: ["p"])])
    #expect(sum(finding(6, "b", equal: 3)) == [other, finding(7, "a", equal: 5, silent: ["p"])])
    #expect(sum(finding(7, "b", equal: 0))[1].different == ["tcp://10.0.0.2:2"])
  }

  @Test("a verification ends immediately when all peers have reported equal digests")
  func equal() throws {
    var bench = bench()
    let asked = verify(&bench)
    #expect(asked.asks().count == 1)
    #expect(try report(asked) == nil)
    let digest = try digest(bench)
    bench.send(.ann, .has(1, digest: digest))
    let end = try #require(try report(bench.send(.ben, .has(1, digest: digest))))
    #expect(
      end.text
        == #"{"start":"4d","next":0,"models":[{"model":"lamp","version":1,"digest":"\#(String(digest, radix: 16))","#
        + #""equal":2,"different":[],"silent":[],"unable":[]}]}"#)
  }

  @Test("a verification names the differing peer, counts it and emits a notice")
  func different() throws {
    var bench = bench()
    _ = verify(&bench)
    let digest = try digest(bench)
    let name = "ben-\(Speaker.ben.identity.tag.short)"
    let received = bench.send(.ben, .has(1, digest: digest ^ 1))
    #expect(received.notices == [.differs(peer: name, model: "lamp", version: 1)])
    let end = try #require(try report(bench.send(.ann, .has(1, digest: digest))))
    #expect(end["models"]?.elements?[0]["different"] == [.string(name)])
    #expect(bench.counters.differences == 1)
  }

  @Test("a version that the hub never had is a difference")
  func beyond() throws {
    var bench = bench()
    _ = verify(&bench)
    bench.send(.ben, .has(2, digest: try digest(bench)))
    #expect(bench.counters.differences == 1)
  }

  @Test("a verification compares with each peer's version while the hub goes on")
  func moving() throws {
    var bench = bench()
    _ = verify(&bench)
    let first = try digest(bench)
    bench.write(.ann, 2, .set("level", "0.6"))
    let second = try digest(bench)
    bench.write(.ann, 3, .set("level", "0.7"))
    bench.send(.ann, .has(1, digest: first))
    let end = try #require(try report(bench.send(.ben, .has(2, digest: second))))
    #expect(end["models"]?.elements?[0]["equal"] == 2)
    #expect(end["models"]?.elements?[0]["version"] == 3)
  }

  @Test("a verification asks peers again that lag too far, and lists those without an answer in time as silent")
  func behind() throws {
    var bench = bench()
    bench.write(.ann, 2, .set("level", "0.6"))
    _ = verify(&bench)
    let digest = try digest(bench)
    bench.send(.ann, .has(2, digest: digest))
    #expect(try report(bench.send(.ben, .has(1, digest: 5))) == nil)
    #expect(bench.wait(1_000).asks().count == 1)
    let end = try #require(try report(bench.wait(1_000)))
    #expect(end["models"]?.elements?[0]["silent"] == [.string("ben-\(Speaker.ben.identity.tag.short)")])
    #expect(bench.counters.differences == 0)
  }

  @Test("a verification remembers only a limited number of versions, and still gives a verdict")
  func bounded() throws {
    var bench = bench { $0.verifiedVersions = 4 }
    _ = verify(&bench, timeoutMilliseconds: 60_000)
    let first = try digest(bench)
    for number in 2...20 { bench.write(.ann, ProposalNumber(number), .set("level", "\(number)")) }
    let last = try digest(bench)
    // Too old to be compared: it is asked again.
    bench.send(.ann, .has(1, digest: first))
    bench.send(.ben, .has(20, digest: last))
    let end = try #require(try report(bench.send(.ann, .has(20, digest: last))))
    #expect(end["models"]?.elements?[0]["equal"] == 2)
  }

  @Test("a verification lists peers that cannot be asked, and does not wait for them")
  func unable() throws {
    var bench = HubBench()
    bench.live(.ann)
    bench.write(.ann, 1, .set("level", "0.5"))
    let end = try #require(try report(verify(&bench)))
    #expect(end["models"]?.elements?[0]["unable"] == [.string("ann-\(Speaker.ann.identity.tag.short)")])
  }

  @Test("a verification covers the named models in pages of limited size", arguments: [nil, 5] as [UInt64?])
  func pages(_ topicSeed: UInt64?) throws {
    var bench = HubBench {
      $0.maxVerifiedModels = 2
      $0.topicSeed = topicSeed
    }
    bench.hello(.ann)
    let topics = TopicNumbers(seed: topicSeed)
    for number in 0..<5 {
      let topic = topics.topic(of: number)
      bench.join(.ann, Join(request: UInt32(number + 1), model: number < 4 ? "shop/\(number)" : "lamp"), topic: topic)
      bench.propose(.ann, .of(1, [.set("x", "1")], topic: topic))
    }
    var (found, after): ([String], Topic) = ([], Topics.none)
    repeat {
      let page = try #require(try report(verify(&bench, names: ["shop/"], after: after)))
      found += page["models"]?.elements?.compactMap { $0["model"]?.string } ?? []
      after = Topic(try #require(page["next"]?.int64))
    } while after != Topics.none && found.count < 10
    #expect(found == ["shop/0", "shop/1", "shop/2", "shop/3"])
  }

  @Test("verifications past the limit are refused, and a closed one makes room")
  func limit() throws {
    var bench = bench { $0.maxVerifications = 2 }
    for connection in [701, 702] { _ = verify(&bench, on: ConnectionID(connection)) }
    let refused = verify(&bench).frames.compactMap { frame -> ErrorCode? in
      if case .error(let error) = frame.message { error.code } else { nil }
    }
    #expect(refused == [.overLimit])
    bench.close(701)
    #expect(try report(verify(&bench)) == nil)
  }
}
