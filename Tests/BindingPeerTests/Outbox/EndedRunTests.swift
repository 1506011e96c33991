import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("What a program wrote in runs that have ended is its own")
struct EndedRunTests {
  private var content = OutboxContent()

  private mutating func apply(_ run: UInt32, _ content: OutboxRecord.Content) {
    self.content.apply(OutboxRecord(run: run, content: content), bytes: 1)
  }

  private static func identity(_ run: UInt32) -> Identity {
    Identity(secret: Secret(high: 1, low: UInt64(run)), name: "run-\(run)")
  }

  private mutating func write(in runs: ClosedRange<UInt32>) {
    for run in runs {
      apply(run, .began(Self.identity(run)))
      let id = WriteID(rawValue: 1)
      apply(run, .entry(.written(KeptWrite(id: id, model: "lamp", proposal: .set(["a": "1"]), time: 0, seen: []))))
    }
  }

  /// The write of a run has its outcome, and the run has ended.
  private mutating func end(_ run: UInt32, sent: Bool) {
    let id = WriteID(rawValue: 1)
    if sent { apply(run, .entry(.numbered(id, 1, conditions: []))) }
    apply(run, .entry(.decided(id, .expired)))
    apply(run, .left)
  }

  /// Which runs each unfinished run knows of.
  private var known: [UInt32: [UInt32]] {
    let tags = (1...9 as ClosedRange<UInt32>).map { (run: $0, tag: Self.identity($0).tag) }
    return Dictionary(
      uniqueKeysWithValues: content.unfinished.map { unfinished in
        (unfinished.number, tags.filter { unfinished.earlier.contains($0.tag) }.map(\.run))
      })
  }

  @Test("a run that wrote at the hub is known to those after it until these have ended, whatever process sends them")
  mutating func ended() throws {
    write(in: 1...4)
    #expect(known == [1: [], 2: [1], 3: [1, 2], 4: [1, 2, 3]])
    end(1, sent: true)
    end(2, sent: false)
    for _ in 0..<2 {
      #expect(known == [3: [1], 4: [1, 3]])
      // The process dies here, and the next one opens the file.
      let again = try content.compacted.withUnsafeBytes { try OutboxLog.parse($0) }.content
      #expect(again.unfinished == content.unfinished)
      content = again
      content.forgetFinished()
    }
    end(4, sent: true)
    #expect(known == [3: [1]])
    end(3, sent: true)
    #expect(content.isEmpty)
  }
}
