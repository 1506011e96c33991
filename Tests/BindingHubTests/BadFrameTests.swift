import BindingHub
import BindingProtocol
import Testing

/// Frames that break the grammar: they end the session that sent them, are counted and disturb no other session
/// (G12).
@Suite struct BadFrameTests {
  struct Bad: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var bytes: [UInt8]
    var code: ErrorCode
  }

  static var all: [Bad] {
    let good = Speaker.ann.frame(.propose([.of(1, [.set("a", "1")])]))
    var unknownKind = good
    unknownKind[0] = 0x7F
    var fromAHub = good
    fromAHub[0] = 0x90
    var numberZero = good
    for offset in 19..<23 { numberZero[offset] = 0 }
    return [
      Bad(testDescription: "a truncated frame", bytes: Array(good.dropLast()), code: .malformed),
      Bad(testDescription: "only a header", bytes: Array(good.prefix(13)), code: .malformed),
      Bad(testDescription: "bytes behind the end", bytes: good + [0], code: .malformed),
      Bad(testDescription: "number 0", bytes: numberZero, code: .malformed),
      Bad(testDescription: "an unknown kind", bytes: unknownKind, code: .unknownKind),
      Bad(testDescription: "a hub's kind", bytes: fromAHub, code: .unknownKind),
    ]
  }

  var bench = HubBench()

  init() {
    bench.live(.ann)
    bench.live(.ben)
  }

  @Test("a malformed frame is answered with an error that ends the session, and is counted", arguments: all)
  mutating func answered(_ bad: Bad) {
    let received = bench.deliver([bad.bytes], on: Speaker.ann.connection)
    #expect(received.errors(.ann).map(\.code) == [bad.code])
    #expect(received.errors(.ann).map(\.isFatal) == [true])
    #expect(bench.counters.malformedFrames == 1)
    #expect(bench.send(.ann, .ping(Ping(token: 1))).errors(.ann).map(\.code) == [.unknownSession])
  }

  @Test("a malformed frame writes nothing", arguments: all)
  mutating func notCarriedOut(_ bad: Bad) {
    bench.deliver([bad.bytes], on: Speaker.ann.connection)
    #expect(bench.read().version == 0)
  }

  @Test("a malformed frame does not disturb another session", arguments: all)
  mutating func othersGoOn(_ bad: Bad) {
    let received = bench.deliver([bad.bytes], on: Speaker.ann.connection)
    #expect(received.messages(to: .ben).isEmpty)
    #expect(bench.write(.ben, 1, .set("a", "1")) == .committed(1))
  }

  @Test("a malformed frame from another connection does not end the session that it names", arguments: all)
  mutating func fromAStranger(_ bad: Bad) {
    bench.deliver([bad.bytes], on: 999)
    #expect(bench.counters.malformedFrames + bench.counters.unknownSessions == 1)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("a malformed frame does not end another session of the same connection")
  mutating func sameConnection() {
    var other = Speaker.cat
    other.connection = Speaker.ann.connection
    bench.live(other)
    bench.deliver([Self.all[0].bytes], on: Speaker.ann.connection)
    #expect(bench.write(other, 1, .set("a", "1")) == .committed(1))
  }

  @Test("an empty frame is answered without a session")
  mutating func empty() {
    let errors = bench.deliver([[]], on: 999).frames.map(\.message)
    guard case .error(let error)? = errors.first else {
      Issue.record("no error came")
      return
    }
    #expect(error.session == 0)
    #expect(error.code == .malformed)
  }

  @Test("a hello with trailing bytes is an error and gets no welcome")
  mutating func longHello() {
    let frame = Speaker.cat.frame(.hello(Hello(identity: Speaker.cat.identity))) + [0]
    let received = bench.deliver([frame], on: Speaker.cat.connection)
    #expect(received.welcome(.cat) == nil)
    #expect(received.errors(.cat).map(\.code) == [.malformed])
  }

  @Test(
    "a hello whose encoding is not json, or whose name has unprintable characters, is refused with the reason",
    arguments: [
      ("cbor", "cat", ErrorCode.malformed, "is \"cbor\"; only json is supported"),
      ("", "cat", .malformed, "is \"\"; only json is supported"),
      ("json", "c\u{1B}[2J", .badName, "has the character \\u{1b}, which a terminal may interpret"),
      ("json", "c\nt", .badName, "\\u{a}"), ("json", "c\0t", .badName, "\\u{0}"),
      ("json", "c\u{9B}t", .badName, "\\u{9b}"),
      ("json", "c\u{202E}t", .badName, "\\u{202e}"), ("json", "c\u{2066}t", .badName, "\\u{2066}"),
    ])
  mutating func refusedHello(_ encoding: String, _ name: String, _ code: ErrorCode, _ words: String) {
    var hello = Hello(identity: Speaker.cat.identity, encoding: encoding)
    hello.identity.name = name
    let received = bench.deliver([Speaker.cat.frame(.hello(hello))], on: Speaker.cat.connection)
    #expect(received.welcome(.cat) == nil)
    #expect(received.errors(.cat).map(\.code) == [code] && received.errors(.cat).map(\.isFatal) == [true])
    #expect(received.errors(.cat).first?.text.contains(words) == true, "\(received.errors(.cat).map(\.text))")
  }

  @Test("a status request with trailing bytes is an error")
  mutating func longStatus() {
    let received = bench.deliver([PeerMessage.status.encode(session: 0, start: 0) + [0]], on: 999)
    #expect(received.frames.map(\.message.kind) == [.error])
  }

  @Test("a status request is answered without a session, as JSON")
  mutating func status() throws {
    let received = bench.deliver([PeerMessage.status.encode(session: 0, start: 0)], on: 999)
    guard case .statusReport(let report)? = received.frames.first?.message else {
      Issue.record("no report came")
      return
    }
    #expect(try report.json.json["name"] == .string("hub"))
  }

  @Test("a frame with another start number gets `staleStart`, is counted, and ends its session")
  mutating func staleStart() {
    let frame = PeerMessage.propose([.of(1, [.set("a", "1")])]).encode(session: Speaker.ann.session, start: 78)
    let received = bench.deliver([frame], on: Speaker.ann.connection)
    #expect(received.errors(.ann).map(\.code) == [.staleStart])
    #expect(bench.counters.staleStarts == 1)
    #expect(bench.read().version == 0)
    #expect(bench.send(.ann, .ping(Ping(token: 1))).errors(.ann).map(\.code) == [.unknownSession])
  }

  @Test("a frame with another start number does not disturb other sessions")
  mutating func staleStartOfAnother() {
    let frame = PeerMessage.askHeads.encode(session: Speaker.ann.session, start: 78)
    bench.deliver([frame], on: 999)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
    #expect(bench.write(.ben, 1, .set("a", "2")) == .committed(2))
  }

  @Test("a session's frames are accepted only on its own connection")
  mutating func otherConnection() {
    let received = bench.deliver([Speaker.ann.frame(.propose([.of(1, [.set("a", "1")])]))], on: 999)
    #expect(received.frames.count == 1)
    #expect(bench.counters.unknownSessions == 1)
    #expect(bench.read().version == 0)
  }
}
