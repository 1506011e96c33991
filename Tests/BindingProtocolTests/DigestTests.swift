import BindingProtocol
import Testing

@Suite("The digest of a field")
struct DigestTests {
  @Test(
    "a field's digest matches the values that other programs compute from protocol.md",
    arguments: [
      ("level", 12, "0.8", 0x14C8_F984_21F6_F9FF), ("on", 9, "true", 0xF50E_DA2A_37EB_B281),
      ("@description", 1, "{}", 0x328B_3E39_4029_94DC), ("a", Version.max, "\"☀\"", 0xC302_2843_B046_9A56),
      ("label", 9_007_199_254_740_993, "null", 0x2C78_1DD8_CE40_C1B7),
    ] as [(String, Version, String, UInt64)])
  func knownValues(_ name: String, _ version: Version, _ value: String, _ digest: UInt64) {
    let json = FieldValue(bytes: Array(value.utf8))
    #expect(fieldDigest(name: name, version: version, value: json) == digest)
    Array(name.utf8).withUnsafeBytes { name in
      json.bytes.withUnsafeBytes { value in
        #expect(fieldDigest(name: name, version: version, value: value) == digest)
        #expect(Digest.field(state: Digest.state(ofName: name), version: version, value: value) == digest)
      }
    }
  }

  @Test("field digests add up to the model's digest in any order, modulo 2^64")
  func sums() {
    let level = fieldDigest(name: "level", version: 12, value: FieldValue(json: 0.8))
    let on = fieldDigest(name: "on", version: 9, value: FieldValue(json: true))
    #expect(level &+ on == 0x09D7_D3AE_59E2_AC80)
    #expect(level &+ on &- level == on)
  }

  @Test("a field's digest depends on the boundary of name and value, and on the version")
  func parts() {
    func digest(_ name: String, _ version: Version, _ value: String) -> UInt64 {
      fieldDigest(name: name, version: version, value: FieldValue(bytes: Array(value.utf8)))
    }
    #expect(digest("ab", 1, "1") != digest("a", 1, "b1"))
    #expect(digest("a", 1, "1") != digest("a", 2, "1"))
    #expect(digest("a", 1, "1") != digest("a", 1, "1.0"))
  }
}
