import BindingProtocol
import Testing

@Suite("Identities")
struct IdentityTests {
  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test(
    "SHA-256 gives the published digests of FIPS 180-4's examples and at block boundaries",
    arguments: [
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
          + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
      (String(repeating: "a", count: 55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
      (String(repeating: "a", count: 56), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
      (String(repeating: "a", count: 63), "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
      (String(repeating: "a", count: 64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
      (String(repeating: "a", count: 100_000), "6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee"),
    ])
  func digest(_ message: String, _ digest: String) {
    #expect(hex(SHA256.digest(Array(message.utf8))) == digest)
  }

  @Test("a tag is the first 8 bytes of SHA-256 over `bindbus tag 1`, a zero byte and the secret's bytes")
  func tag() {
    let secret = GoodVectors.secret
    let message = Array("bindbus tag 1".utf8) + [0] + (0x10...0x1F as ClosedRange<UInt8>)
    #expect(Tag(of: secret).description == hex(Array(SHA256.digest(message).prefix(8))))
    #expect(Tag(of: secret).description == "5158298726b4245f")
  }

  @Test("an identity is proven only if its tag is that of its secret")
  func proven() {
    let identity = Identity(secret: GoodVectors.secret, name: "kitchen")
    #expect(identity.isProven && identity.tag == Tag(of: GoodVectors.secret))
    var other = identity
    other.secret.low ^= 1
    #expect(!other.isProven)
    #expect(!Identity(tag: .none, secret: identity.secret, name: "kitchen").isProven)
  }

  @Test("two random secrets differ")
  func drawn() { #expect(Secret.random() != Secret.random()) }
}
