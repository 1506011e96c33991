import BindingProtocol
import Testing

/// A generator of pseudorandom numbers that repeat for the same seed (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
  var seed: UInt64

  mutating func next() -> UInt64 {
    seed &+= 0x9E37_79B9_7F4A_7C15
    var mixed = seed
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

@Suite("Frames with random faults")
struct FuzzTests {
  /// Flips bits, truncates, inserts bytes, or overwrites bytes with 0 or with 0xFF, which makes counts large.
  private func mutated(_ frame: [UInt8], _ numbers: inout SeededNumbers) -> [UInt8] {
    var frame = frame
    for _ in 0..<Int.random(in: 1...3, using: &numbers) where !frame.isEmpty {
      let at = Int.random(in: 0..<frame.count, using: &numbers)
      switch Int.random(in: 0..<8, using: &numbers) {
      case 0...3: frame[at] ^= 1 << UInt8.random(in: 0...7, using: &numbers)
      case 4: frame[at] = 0xFF
      case 5: frame[at] = 0
      case 6: frame.removeSubrange(at...)
      default: frame.insert(UInt8.random(in: 0...255, using: &numbers), at: at)
      }
    }
    return frame
  }

  @Test("randomly corrupted frames never trap, decoded ones re-encode to the same bytes, and cursors agree")
  func randomFaults() throws {
    var numbers = SeededNumbers(seed: 2_026)
    let frames = GoodVectors.all.map { (bytes: $0.vector.bytes, direction: $0.vector.direction) }
    var accepted = 0
    for round in 0..<100_000 {
      let good = frames[round % frames.count]
      let frame = mutated(good.bytes, &numbers)
      let walked = walks(frame, direction: good.direction)
      guard let vector = try? Vector.decode(frame, direction: good.direction) else { continue }
      accepted += 1
      if vector.name == "propose" || vector.name == "commits" { #expect(walked, "round \(round)") }
      // A welcome may omit limits or contain unknown ones.
      if vector.name != "welcome" { #expect(vector.bytes == frame, "round \(round): \(vector)") }
    }
    #expect(accepted > 1_000)
    #expect(accepted < 99_000)
  }

  @Test("frames of pure noise are refused without a trap")
  func noise() {
    var numbers = SeededNumbers(seed: 7)
    let kinds = PeerMessageKind.allCases.map { $0.rawValue } + HubMessageKind.allCases.map { $0.rawValue }
    var accepted = 0
    for round in 0..<50_000 {
      var frame = (0..<Int.random(in: 0..<80, using: &numbers)).map { _ in UInt8.random(in: 0...255, using: &numbers) }
      let kind = kinds[round % kinds.count]
      if !frame.isEmpty { frame[0] = kind }
      if (try? PeerMessage.decode(frame)) != nil { accepted += 1 }
      if frame.count > 4 { frame[0...4] = [1, 0, 0, 1, kind] }
      if (try? HubMessage.decode(frame)) != nil { accepted += 1 }
      _ = walks(frame, direction: Vector.toPeerName)
    }
    #expect(accepted < 5_000)
  }

  @Test("a claimed count does not make the decoder reserve memory")
  func countsReserveNothing() {
    // 4,294,967,295 heads in a frame of 29 bytes: reserving them would take 100 GiB.
    let frame = HubMessage.heads(HeadsAnswer(session: 1, epoch: 1, heads: [])).encode(start: 1).dropLast(4)
    #expect(throws: WireError.self) { try HubMessage.decode(frame + [0xFF, 0xFF, 0xFF, 0xFF]) }
  }
}
