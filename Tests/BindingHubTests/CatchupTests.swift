import BindingProtocol
import Testing

@testable import BindingHub

/// Catch-ups sent in shares, one in each turn, while other peers write.
@Suite struct CatchupTests {
  var bench = HubBench { $0.limits.chunkBytes = 200 }
  /// What ben has received so far.
  var chunks: [CatchupChunk] = []

  init() {
    bench.live(.ann)
    for number in 1...12 { bench.write(.ann, ProposalNumber(number), .set("f\(number)", "\"\(number) of twelve\"")) }
    bench.sendsAll = false
  }

  /// Joins with nothing; the first share is sent.
  private mutating func join() {
    bench.hello(.ben)
    collect(bench.join(.ben, Join(request: 1, model: "lamp")))
    #expect(chunks.count == 1 && chunks.last?.isLast == false)
  }

  private mutating func collect(_ received: Received) { chunks += received.chunks(.ben) }

  /// The remaining turns, when nothing else happens.
  private mutating func goOn() {
    while bench.machine.isStreaming { collect(bench.wait(0)) }
  }

  /// The final fields of a reader of these messages, in order.
  private var values: [String: String] {
    var names: [String] = []
    var values: [String: String] = [:]
    for chunk in chunks {
      #expect(Int(chunk.names.first) == names.count)
      names += chunk.names.names
      for entry in chunk.entries where names.indices.contains(Int(entry.field)) {
        values[names[Int(entry.field)]] = entry.value?.description
      }
    }
    return values
  }

  private mutating func expectWhole() {
    #expect(chunks.map(\.isLast) == chunks.indices.map { $0 == chunks.count - 1 })
    #expect(chunks.map(\.chunk) == (0..<UInt32(chunks.count)).map { $0 })
    let last = chunks.last?.version
    let values = values
    bench.sendsAll = true
    let now = bench.read()
    #expect(values == now.values)
    #expect(last == now.version)
  }

  @Test("a large catch-up sends one message a turn")
  mutating func shares() {
    join()
    collect(bench.wait(0))
    #expect(chunks.count <= 3 && chunks.last?.isLast == false)
    goOn()
    expectWhole()
  }

  @Test("fields that are set, deleted or added after they were sent are sent again before the catch-up ends")
  mutating func changes() {
    join()
    collect(bench.send(.ann, .propose([.of(13, [.set("f1", "\"again\"")])])))
    collect(bench.send(.ann, .propose([.of(14, [.of(.delete, "f2"), .set("f12", "\"late\""), .set("new", "1")])])))
    goOn()
    expectWhole()
    #expect(values["f1"] == "\"again\"" && values["f2"] == nil && values["new"] == "1")
  }

  @Test("writes during a catch-up are acknowledged and published immediately, to the joining peer too")
  mutating func others() {
    join()
    let received = bench.send(.ann, .propose([.of(13, [.set("f1", "1")])]))
    #expect(received.outcomes(.ann) == [13: .committed(count: 1, version: 13)])
    #expect(received.commits().map(\.version) == [13])
  }

  @Test("the last message of a catch-up waits until pending decisions are stored")
  mutating func stored() throws {
    join()
    bench.settling = .later
    collect(bench.send(.ann, .propose([.of(13, [.set("f1", "1")])])))
    goOn()
    #expect(chunks.last?.isLast == false)
    collect(try bench.settleWithStore())
    goOn()
    expectWhole()
    #expect(values["f1"] == "1")
  }

  @Test("a catch-up ends although others write continuously")
  mutating func withoutPause() throws {
    join()
    bench.settling = .later
    collect(bench.send(.ann, .propose([.of(13, [.set("f1", "1")])])))
    for number in ProposalNumber(14)..<60 where chunks.last?.isLast == false {
      collect(bench.send(.ann, .propose([.of(number, [.set("f\(number % 12 + 1)", "\(number)")])])))
      collect(try bench.settleWithStore())
    }
    #expect(chunks.last?.isLast == true)
  }

  @Test("a join is answered between two batches although proposals wait")
  mutating func betweenBatches() throws {
    bench.hello(.ben)
    bench.settling = .later
    bench.send(.ann, .propose([.of(13, [.set("f1", "1")])]))
    bench.send(.ann, .propose([.of(14, [.set("f1", "2")])]))
    #expect(bench.join(.ben, Join(request: 1, model: "lamp")).joined(.ben).isEmpty)
    #expect(try bench.settleWithStore().joined(.ben).map(\.version) == [13])
  }

  @Test("a second join restarts the catch-up")
  mutating func anew() {
    join()
    chunks.removeAll()
    collect(bench.send(.ben, .join([Join(request: 2, model: "lamp")])))
    goOn()
    #expect(chunks.allSatisfy { $0.request == 2 })
    expectWhole()
  }

  @Test("a catch-up stops when its peer leaves")
  mutating func left() {
    join()
    bench.send(.ben, .leave(Leave(topics: [HubBench.lamp])))
    #expect(!bench.machine.isStreaming)
  }

  @Test("a catch-up stops when its connection closes")
  mutating func closed() {
    join()
    bench.close(Speaker.ben.connection)
    #expect(!bench.machine.isStreaming)
  }

  @Test("a catch-up pauses while its connection is congested")
  mutating func congested() {
    join()
    collect(bench.act { machine, _, _ in machine.becameCongested(Speaker.ben.connection) })
    #expect(chunks.count == 1 && !bench.machine.isStreaming)
    collect(bench.act { machine, _, output in machine.becameWritable(Speaker.ben.connection, into: &output) })
    goOn()
    expectWhole()
  }

  @Test("two concurrent catch-ups both progress")
  mutating func two() {
    bench.hello(.cat)
    join()
    let cat = bench.join(.cat, Join(request: 1, model: "lamp"))
    collect(cat)
    var received = cat.chunks(.cat)
    while bench.machine.isStreaming {
      let turn = bench.wait(0)
      collect(turn)
      received += turn.chunks(.cat)
    }
    #expect(received.last?.isLast == true)
    expectWhole()
  }
}
