import BindingProtocol
import Testing

@testable import BindingHub

/// The storage of a model's fields: found by name, small, with a batch's decisions apart from the stored values.
@Suite struct FieldSlotsTests {
  var fields = FieldSlots()

  mutating func store(_ value: String?, in id: FieldID, _ version: Version, by name: String = "ann") {
    let source = fields.source(of: Origin(tag: Tag(rawValue: UInt64(name.utf8.count)), name: name), in: 5)
    guard let value else {
      return fields.store(nil, in: id, from: source, version: version, number: 1, time: 0)
    }
    Array(value.utf8).withUnsafeBytes {
      fields.store($0, in: id, from: source, version: version, number: 1, time: 0)
    }
  }

  @Test("a field takes at most eighty bytes besides its value, as there may be millions")
  func size() { #expect(MemoryLayout<FieldSlot>.stride <= 80) }

  @Test("many fields are found by name, as text and as bytes")
  mutating func found() {
    for number in 0..<2_000 { #expect(fields.add("field\(number)") == FieldID(number)) }
    for number in 0..<2_000 {
      #expect(fields.id(of: "field\(number)") == FieldID(number))
      #expect(Array("field\(number)".utf8).withUnsafeBytes { fields.id(of: $0) } == FieldID(number))
    }
    #expect(fields.id(of: "field2000") == nil && fields.id(of: "") == nil)
  }

  @Test("truncated names are unknown, all others are still found, and new names reuse the ids")
  mutating func truncated() {
    for number in 0..<1_000 { _ = fields.add("a\(number)") }
    fields.truncate(to: 300)
    for number in 0..<1_000 { #expect(fields.id(of: "a\(number)") == (number < 300 ? FieldID(number) : nil)) }
    for number in 300..<1_000 { #expect(fields.add("b\(number)") == FieldID(number)) }
    for number in 0..<1_000 {
      #expect(fields.id(of: number < 300 ? "a\(number)" : "b\(number)") == FieldID(number))
    }
  }

  @Test("the description field is found, and forgotten with its name")
  mutating func description() {
    _ = fields.add("a")
    #expect(fields.descriptionID == .max)
    #expect(fields.add(Names.description) == 1 && fields.descriptionID == 1)
    fields.truncate(to: 1)
    #expect(fields.descriptionID == .max)
  }

  @Test("a field's decision stands beside its stored value until it is stored or reverted")
  mutating func decided() {
    let id = fields.add("a")
    store("1", in: id, 1)
    #expect(!fields.isDecided(id) && fields.decidedVersion(id) == 1 && fields.decided(id).hasValue)
    let before = fields.decided(id)
    fields.decide(id, .init(version: 2, hasValue: false, value: 0..<0, writer: 3))
    #expect(fields.isDecided(id) && fields.decidedVersion(id) == 2 && !fields.decided(id).hasValue)
    #expect(fields[id].version == 1 && fields[id].fieldValue == json("1"))
    fields.decide(id, before)
    #expect(!fields.isDecided(id) && fields.decidedVersion(id) == 1)
    fields.decide(id, .init(version: 3, hasValue: true, value: 0..<1, writer: 0))
    store("3", in: id, 3)
    fields.endDecisions()
    #expect(!fields.isDecided(id) && fields[id].fieldValue == json("3"))
  }

  @Test("fields of one writer and one epoch share their source")
  mutating func sources() {
    for number in 0..<3 { _ = fields.add("a\(number)") }
    store("1", in: 0, 1)
    store("1", in: 1, 2, by: "benedict")
    store("1", in: 2, 3)
    #expect(fields[0].source === fields[2].source && fields[0].source !== fields[1].source)
    #expect(fields[1].origin.name == "benedict" && fields[2].origin.name == "ann" && fields[2].epoch == 5)
  }

  @Test("a writer whose values are all overwritten is released")
  mutating func forgottenSources() {
    let id = fields.add("a")
    weak var first: FieldSource?
    store("1", in: id, 1, by: "w")
    first = fields[id].source
    for version in 2..<100 { store("1", in: id, Version(version), by: String(repeating: "w", count: version)) }
    #expect(first == nil)
  }

  @Test("a recovered field names its recovery point until it is written again")
  func broughtBack() {
    var back = BroughtBack()
    let point = RecoveryPoint(epoch: 4 << 32, version: 9)
    back.record(3, at: 12, from: point)
    #expect(back.point(of: 3, at: 12) == point)
    #expect(back.point(of: 3, at: 13) == nil && back.point(of: 2, at: 12) == nil && back.point(of: 4, at: 0) == nil)
  }

  @Test("the digest is the sum over all fields with a value, also after deletions")
  mutating func digest() {
    for number in 0..<3 { store("1", in: fields.add("a\(number)"), Version(number + 1)) }
    _ = fields.digest()
    store(nil, in: 1, 4)
    store("22", in: 2, 5)
    let wanted =
      fieldDigest(name: "a0", version: 1, value: json("1")) &+ fieldDigest(name: "a2", version: 5, value: json("22"))
    #expect(fields.digest() == wanted && fields.valueCount == 2)
  }
}
