import BindingProtocol
import Testing

@testable import BindingHub

@Suite("Models of a log that several hubs share")
struct SharedModelTests {
  @Test("a model named for the first time is loaded before its join is answered, never told as empty")
  func loaded() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.hello(1, .ben)
    cell.handle(1).setTailHeld(true)
    cell.write(0, .ann, 1, "level", "1")
    let early = cell.join(1, .ben)
    #expect(early.joined(.ben).isEmpty)
    #expect(cell.step()[1].joined(.ben).map(\.version) == [1])
  }

  @Test("a model removed by one hub and made again goes on after its last version at all")
  func removed() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.write(0, .ann, 1, "level", "1")
    cell.send(0, .ann, .propose([.of(2, [.delete("level")], confirmed: 1)]))
    cell.step()
    cell.confirm(0, .ann, 2)
    cell.send(0, .ann, .leave(Leave()))
    cell.step(40)
    #expect(cell.counters(0).removedModels == 1)
    #expect(cell.head(0) == nil && cell.head(1) == nil)
    cell.live(1, .ben)
    #expect(cell.write(1, .ben, 1, "level", "3")[1] == .committed(3))
    cell.live(0, .cat)
    #expect(cell.head(0)?.version == 3 && cell.head(0)?.digest == cell.head(1)?.digest)
  }

  @Test("a hub that starts names all models below a prefix, none before it has them all")
  func prefix() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.write(0, .ann, 1, "level", "1")
    cell.open()
    let hello = Hello(identity: Speaker.ben.identity, leaseMilliseconds: 60_000, capabilities: [])
    cell.send(2, .ben, .hello(hello))
    var received = cell.step()[2]
    received = received + cell.send(2, .ben, .join([Join(request: 1, prefix: "")]))
    received = received + cell.step(40)[2]
    #expect(received.announces(.ben).flatMap(\.models).map(\.model) == ["lamp"])
    #expect(received.announces(.ben).last?.isComplete == true)
  }

  @Test("a model that no session has joined for long is let go, and loaded as it is by then when it is named again")
  func letGo() {
    var cell = CellBench { $0.unusedMilliseconds = 5_000 }
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.write(0, .ann, 1, "level", "1")
    cell.send(1, .ben, .leave(Leave()))
    cell.step()
    #expect(cell.head(1)?.version == 1)
    for _ in 0..<8 {
      cell.now += 1_000
      cell.act(1) { $0.tick(time: $1, into: &$2) }
    }
    #expect(cell.head(1) == nil && cell.counters(1).modelsLetGo == 1)
    #expect(cell.write(0, .ann, 2, "level", "2")[2] == .committed(2))
    #expect(cell.head(1) == nil, "records of what nobody uses are not kept")
    let received = cell.live(1, .cat)
    #expect(received.joined(.cat).map(\.version) == [2])
    #expect(cell.head(0)?.digest == cell.head(1)?.digest)
  }

  @Test("a page that was read for a session that is gone is not taken for the next one's")
  func pageOfAnother() {
    var cell = CellBench()
    cell.live(0, .ann)
    for model in ["a", "b", "c", "d", "e"] {
      cell.join(0, .ann, Join(request: 2, model: model))
      cell.step()
      let topic = cell.topic(0, of: model)
      cell.send(0, .ann, .propose([.of(1, [.set("level", "1")], topic: topic)]))
      cell.step()
    }
    cell.hello(1, .ben)
    cell.hello(1, .cat)
    // Pages have two models: the second page of one listing is under way when the other begins.
    cell.send(1, .ben, .join([Join(request: 1, prefix: "")]))
    cell.step(1)
    cell.send(1, .ben, .leave(Leave()))
    var received = cell.send(1, .cat, .join([Join(request: 1, prefix: "")]))
    received = received + cell.step(60)[1]
    // What is loaded while a page is being read may be named twice.
    #expect(Set(received.announces(.cat).flatMap(\.models).map(\.model)) == ["a", "b", "c", "d", "e"])
    #expect(received.announces(.cat).last?.isComplete == true)
  }

  @Test("a hub at its limit of models lets unused ones go for a new one")
  func limit() {
    var cell = CellBench { $0.limits.maxModels = 3 }
    cell.live(0, .ann)
    for model in ["a", "b", "c", "d", "e"] {
      cell.send(0, .ann, .join([Join(request: 2, model: model)]))
      let received = cell.subscribe(0, .ann, Topics.bytes(cell.topic(0, of: model))) + cell.step()[0]
      #expect(received.joined(.ann).map(\.model) == [model])
      let topic = cell.topic(0, of: model)
      let written = cell.send(0, .ann, .propose([.of(1, [.set("level", "1")], topic: topic)])) + cell.step()[0]
      #expect(written.outcomes(.ann, topic: topic)[1] == .committed(1))
      cell.send(0, .ann, .leave(Leave(topics: [topic])))
      cell.step()
    }
    #expect(cell.counters(0).modelsLetGo > 0)
  }
}
