import BindingProtocol
import Testing

@testable import BindingHub

@Suite("What siblings have")
struct SiblingPartsTests {
  private static let model = Names.ephemeral("lamp")
  private var parts = SiblingParts(count: 2)

  init() { parts.follow(SiblingPartsTests.model, now: 0) }

  private static func value(_ text: String, of tag: UInt64, at time: UInt64 = 1) -> SiblingParts.Value {
    SiblingParts.Value(
      value: FieldValue(bytes: Array(text.utf8)), origin: Origin(tag: Tag(rawValue: tag), name: "ann"), time: time)
  }

  private func shown(_ field: String) -> String? {
    parts.value(of: field, in: SiblingPartsTests.model).map { String(decoding: $0.value.bytes, as: UTF8.self) }
  }

  private mutating func set(_ field: String, _ value: SiblingParts.Value?, _ link: Int) {
    parts.set(field, in: SiblingPartsTests.model, to: value, of: link)
  }

  @Test("of two holders the lower tag counts, whichever hub is asked first; of one holder the later value")
  mutating func precedence() {
    for (one, other) in [(0, 1), (1, 0)] {
      set("seat", SiblingPartsTests.value("1", of: 7, at: 9), one)
      set("seat", SiblingPartsTests.value("2", of: 5, at: 3), other)
      #expect(shown("seat") == "2")
      set("seat", SiblingPartsTests.value("3", of: 7, at: 10), other)
      #expect(shown("seat") == "3")
    }
    set("seat", nil, 0)
    set("seat", nil, 1)
    #expect(shown("seat") == nil)
  }

  @Test("what is no field of a peer, and what is not followed, is not kept")
  mutating func notShared() {
    set(Names.me, SiblingPartsTests.value("1", of: 7), 0)
    parts.set("x", in: Names.ephemeral("other"), to: SiblingPartsTests.value("1", of: 7), of: 0)
    #expect(parts.count == 0)
  }

  @Test("presence that cannot be read is nobody's")
  mutating func oddPresence() {
    for (number, text) in ["1", "{}", #"{"tag":7,"name":"x","since":1}"#, "not json"].enumerated() {
      set("@peer-\(number)", SiblingPartsTests.value(text, of: 0), 0)
    }
    #expect(parts.peers(in: SiblingPartsTests.model).isEmpty)
    set("@peer-9", SiblingPartsTests.value(#"{"tag":"0102030405060708","name":"x","since":1}"#, of: 0), 0)
    #expect(parts.peers(in: SiblingPartsTests.model).count == 1)
  }

  @Test("a lost sibling's values count for a lease, once told, and again when it is back")
  mutating func silence() {
    set("a", SiblingPartsTests.value("1", of: 7), 0)
    parts.lost(0, now: 1_000)
    parts.lost(0, now: 5_000)
    var changed = parts.silence(lease: 10_000, now: 10_999)
    #expect(changed.isEmpty && shown("a") == "1")
    changed = parts.silence(lease: 10_000, now: 11_000)
    #expect(changed == [SiblingPartsTests.model: ["a"]] && shown("a") == nil)
    changed = parts.silence(lease: 10_000, now: 12_000)
    #expect(changed.isEmpty)
    changed = parts.reached(0, isStranger: false)
    #expect(changed == [SiblingPartsTests.model: ["a"]] && shown("a") == "1")
  }

  @Test("a join waits for what the siblings have that answer, and not for long")
  mutating func waits() {
    let model = SiblingPartsTests.model
    #expect(parts.mayAnswer("other", now: 1) && parts.mayAnswer(model, now: 1), "none answers")
    _ = parts.reached(0, isStranger: false)
    #expect(!parts.mayAnswer(model, now: 1) && parts.mayAnswer(model, now: SiblingParts.waitMilliseconds))
    parts.complete(model, of: 0)
    #expect(parts.mayAnswer(model, now: 1))
    _ = parts.reached(1, isStranger: false)
    #expect(!parts.mayAnswer(model, now: 1))
    parts.lost(1, now: 2)
    #expect(parts.mayAnswer(model, now: 2))
  }

  @Test("a hub of another log has nothing here")
  mutating func stranger() {
    set("a", SiblingPartsTests.value("1", of: 7), 0)
    let changed = parts.reached(0, isStranger: true)
    #expect(changed == [SiblingPartsTests.model: ["a"]] && shown("a") == nil)
    set("a", SiblingPartsTests.value("1", of: 7), 0)
    #expect(parts.count == 0)
  }

  @Test("what is followed no more is forgotten, and asked of both hubs")
  mutating func unfollow() {
    set("a", SiblingPartsTests.value("1", of: 7), 0)
    var isUnused = parts.isUnused(SiblingPartsTests.model, now: 1_000)
    #expect(!isUnused)
    isUnused = parts.isUnused(SiblingPartsTests.model, now: 1_000 + SiblingParts.lingerMilliseconds)
    #expect(isUnused)
    let gone = parts.unfollow(SiblingPartsTests.model)
    #expect(gone == ["a"] && parts.count == 0)
    for link in 0..<2 {
      let requests = parts.takeRequests(of: link)
      #expect(requests == [.follow(SiblingPartsTests.model), .unfollow(SiblingPartsTests.model)])
    }
  }

  @Test("another hub of the log reads, and is refused what it writes, also where nobody's rights are limited")
  func readsOnly() {
    var bench = HubBench()
    bench.act { machine, _, _ in machine.identify(Speaker.ben.connection, as: .sibling) }
    bench.live(.ann)
    bench.live(.ben)
    #expect(bench.propose(.ann, .of(1, [.set("level", "1")]))[1] == .committed(1))
    guard case .refused(let refusal)? = bench.propose(.ben, .of(1, [.set("level", "2")]))[1] else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == .notPermitted)
  }
}
