import BindingKeys
import BindingProtocol
import Testing
import ZeroMQ

@testable import BindingHub

/// What comes from a person's editor, a mail program or a disk, with random faults: nothing traps, and what is accepted
/// means the same when it is written and read again.
@Suite("Files with random faults")
struct RandomFaultTests {
  /// Pseudorandom numbers that repeat for the same seed (xorshift64*).
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return state &* 0x2545_F491_4F6C_DD1D
    }
  }

  private static let rounds = 20_000
  private static let pieces = [
    "\"", "{", "}", "[", "]", ",", ":", "*", ".", "/", "null", "true", "-1", "1e400", "9223372036854775807",
    "-9223372036854775808", "\\u0000", "\u{0}", "ä", "bindbus1:", "\"roles\"", "\"members\"", "\n",
  ]

  /// Replaces, removes or repeats some pieces of a text.
  private static func mutated(_ text: String, _ numbers: inout Numbers) -> String {
    var text = Array(text)
    for _ in 0..<Int.random(in: 1...3, using: &numbers) where !text.isEmpty {
      let at = Int.random(in: 0..<text.count, using: &numbers)
      let end = min(text.count, at + Int.random(in: 0...12, using: &numbers))
      let piece = Array(pieces.randomElement(using: &numbers) ?? "")
      switch Int.random(in: 0..<4, using: &numbers) {
      case 0: text.replaceSubrange(at..<end, with: piece)
      case 1: text.removeSubrange(at..<end)
      case 2: text.insert(contentsOf: text[at..<end], at: Int.random(in: 0...text.count, using: &numbers))
      default: text.insert(contentsOf: piece, at: at)
      }
    }
    return String(text)
  }

  @Test("a file of rights is refused with its place, or allows what it says")
  func access() {
    var numbers = Numbers(state: 1)
    let good = """
      {"bindbus": "access", "version": 1, "roles": {"staff": {"read": ["*"], "write": ["shop/*", "lamp.l*"],
      "fanout": true, "admin": true}, "guest": {"own": ["a/*"]}}, "members": {"anna": ["staff"], "uid:7": ["guest"],
      "*": ["guest"]}}
      """
    var accepted = 0
    for _ in 0..<Self.rounds {
      do throws(AccessFileError) {
        let policy = try AccessFile(Self.mutated(good, &numbers)).policy
        accepted += 1
        let user = policy.rights(of: .named("anna", role: nil))
        #expect(user.mayRead("shop/till") || !user.rights(on: "shop/till").write.contains("level"))
        _ = policy.isPublished("lamp")
      } catch {
        #expect(!error.description.isEmpty)
      }
    }
    #expect(accepted > 100 && accepted < Self.rounds)
  }

  @Test("a line of the members' file is none, or is written as it was read; no decision traps")
  func members() throws {
    var numbers = Numbers(state: 2)
    let key = try KeyPair.random().publicKey
    let decisions: [MemberRecord.Decision] = [
      .invite(id: "i1", name: "anna", oneTimeKey: key, until: 2_000), .withdraw(id: "i1"),
      .admit(name: "anna", key: key, label: "laptop", invitation: "i1"), .revokeKey(key), .revoke(name: "anna"),
      .kick(name: "anna", until: 3_000), .kick(name: "uid:7", until: 3_000), .readmit(name: "anna"),
    ]
    var members = Members()
    var accepted = 0
    for round in 0..<Self.rounds {
      let good = MemberRecord(time: 1_000, decision: decisions[round % decisions.count]).json.text
      let line = round % 3 == 0 ? good : Self.mutated(good, &numbers)
      guard let record = (try? JSON(parsing: line)).flatMap({ MemberRecord($0) }) else { continue }
      #expect(MemberRecord(record.json) == record)
      if (try? members.apply(record)) != nil { accepted += 1 }
      _ = members.standing(of: key, at: 1_500)
      _ = members.kicks.values.contains { $0.counts(at: 1_500) }
      _ = try? members.enrolment(of: key, label: "", by: "i1", at: 1_500)
    }
    #expect(accepted > 100 && accepted < Self.rounds)
  }

  @Test("an altered invitation is none; one with a matching checksum is none, or is written as it was read")
  func invitations() throws {
    var numbers = Numbers(state: 3)
    let good = Invitation(
      hub: "shop", member: "anna", addresses: [try HubAddress("tcp://192.0.2.1:7877")],
      hubKey: try KeyPair.random().publicKey, secret: try KeyPair.random().secretKey, until: 2_000)
    let content = try #require(Base64.decode(Self.base64(good.line.dropFirst("bindbus1:".count)))).dropLast(4)
    var accepted = 0
    for round in 0..<Self.rounds {
      let line = Self.mutated(good.line, &numbers)
      if let read = try? Invitation(line: line) { #expect(read == good, "\(line)") }
      var bytes = Array(content)
      let at = Int.random(in: 0..<bytes.count, using: &numbers)
      if round % 2 == 0 { bytes[at] = .random(in: 0...255, using: &numbers) } else { bytes.removeSubrange(at...) }
      let checksum = bytes.withUnsafeBytes { Checksum.crc32c($0) }
      for byte in 0..<4 as Range<UInt32> { bytes.append(UInt8(truncatingIfNeeded: checksum >> (8 * byte))) }
      guard let read = try? Invitation(line: "bindbus1:" + Base64.encode(bytes)) else { continue }
      accepted += 1
      #expect(try Invitation(line: read.line) == read)
    }
    #expect(accepted > 100 && accepted < Self.rounds)
  }

  /// Flips a bit, cuts the end off, or overwrites bytes with 0xFF, which makes counts large and announces users.
  private static func mutated(_ bytes: [UInt8], _ numbers: inout Numbers) -> [UInt8] {
    var bytes = bytes
    let at = Int.random(in: 0..<bytes.count, using: &numbers)
    switch Int.random(in: 0..<4, using: &numbers) {
    case 0...1: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &numbers)
    case 2: bytes[at] = 0xFF
    default: bytes.removeSubrange(at...)
    }
    return bytes
  }

  /// A stored model with users, refusals, deletions and a description.
  private static func stored() throws -> StoredModel {
    var bench = HubBench()
    bench.act { machine, _, _ in machine.identify(Speaker.ann.connection, as: .named("anna", role: nil)) }
    for (number, peer) in [Speaker.ann, .ben].enumerated() {
      bench.live(peer)
      bench.write(peer, 1, .set("level", "\(number)"), .set("label", "\"Größe\""))
      bench.write(peer, 2, .set("hue", "not a value"))
      bench.write(peer, 3, .delete("label"))
    }
    return try #require(try bench.store.load("lamp"))
  }

  @Test("a stored batch is refused, or is written as it was read, and restoring it does not trap")
  func batches() throws {
    var numbers = Numbers(state: 4)
    let good = try Self.stored().batches.map { batch in
      var writer = WireWriter()
      batch.write(to: &writer)
      return writer.bytes
    }
    var accepted = 0
    for round in 0..<Self.rounds {
      guard let read = Self.batch(Self.mutated(good[round % good.count], &numbers)) else { continue }
      accepted += 1
      var writer = WireWriter()
      read.write(to: &writer)
      #expect(Self.batch(writer.bytes) == read, "round \(round)")
      _ = try? ModelCompactor(StoredModel(model: "lamp", chunks: [], batches: [read]))
    }
    #expect(accepted > 100 && accepted < Self.rounds)
  }

  private static func batch(_ bytes: [UInt8]) -> Batch? {
    bytes.withUnsafeBytes { buffer in
      var reader = WireReader(buffer, message: "batch")
      guard let batch = try? Batch(from: &reader), (try? reader.end()) != nil else { return nil }
      return batch
    }
  }

  @Test("a stored chunk is refused, or restored without a trap")
  func chunks() throws {
    var numbers = Numbers(state: 5)
    var compactor = try ModelCompactor(try Self.stored())
    var good: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { good.append(chunk) }
    var refused = 0
    for round in 0..<Self.rounds {
      var chunks = good
      let at = round % good.count
      chunks[at] = Self.mutated(good[at], &numbers)
      do throws(StoreError) {
        _ = try ModelCompactor(StoredModel(model: "lamp", chunks: chunks, batches: []))
      } catch {
        refused += 1
        #expect(error.description.hasPrefix("lamp: the stored state cannot be read"))
      }
    }
    #expect(refused > 100 && refused < Self.rounds)
  }

  /// The letters of base64 in place of those of base64url, with padding.
  private static func base64(_ text: Substring) -> String {
    let letters = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return letters + String(repeating: "=", count: (4 - letters.count % 4) % 4)
  }
}
