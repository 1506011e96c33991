import BindingHub
import Testing

@Suite("A map of shards")
struct ShardMapTests {
  private func map() throws -> ShardMap {
    var map = ShardMap()
    for address in ["etcd://a/x", "etcd://b/x"] { _ = try map.add(address) }
    return map
  }

  @Test("a model is in the shard of the longest prefix that its id begins with, else in the root")
  func longestPrefix() throws {
    let map = ShardMap(
      version: 1, shards: [.init(number: 1, address: "a"), .init(number: 2, address: "b")],
      entries: [
        .init("eu/", in: 1), .init("eu/berlin/", in: 2), .init("eu/berlin/old/", in: 0), .init("us/", in: 2),
      ])
    let shards = ["eu/a", "eu/berlin/a", "eu/berlin/old/a", "eu/berlinale", "us/a", "eu", "a", "zz", "us0"].map {
      map.place(of: $0).shard
    }
    #expect(shards == [1, 2, 0, 1, 2, 0, 0, 0, 0])
    #expect(map.shards(below: "") == [0, 1, 2])
    #expect(map.shards(below: "eu/") == [0, 1, 2])
    #expect(map.shards(below: "eu/b") == [0, 1, 2])
    #expect(map.shards(below: "us/x") == [2])
    #expect(map.shards(below: "eu/c") == [1])
  }

  @Test("a move begins, holds the models, and ends in the other shard; back in the root nothing is left of it")
  func moves() throws {
    var map = try map()
    let first = map.version
    try map.beginMove("eu/", to: 1)
    #expect(map.place(of: "eu/a") == ShardMap.Place(shard: 0, target: 1) && map.version == first + 1)
    map.finishMove("eu/")
    #expect(map.place(of: "eu/a") == ShardMap.Place(shard: 1))
    try map.beginMove("eu/", to: 0)
    map.finishMove("eu/")
    #expect(map.entries.isEmpty && map.version == first + 4)
  }

  @Test("a move that is taken back leaves the models where they were")
  func takenBack() throws {
    var map = try map()
    try map.beginMove("eu/", to: 1)
    map.finishMove("eu/")
    let before = map.entries
    try map.beginMove("eu/", to: 2)
    map.takeBack("eu/")
    #expect(map.entries == before)
    try map.beginMove("us/", to: 2)
    map.takeBack("us/")
    #expect(map.entries == before)
  }

  @Test("the same move may begin again; another one of the same models, or of some of them, may not")
  func oneMoveAtATime() throws {
    var map = try map()
    try map.beginMove("eu/", to: 1)
    let held = map
    try map.beginMove("eu/", to: 1)
    #expect(map == held)
    for (prefix, shard) in [("eu/", UInt16(2)), ("eu/berlin/", 2)] {
      #expect { try map.beginMove(prefix, to: shard) } throws: { error in
        "\(error)".contains("eu/ is being moved to etcd://a/x")
      }
    }
    try map.beginMove("us/", to: 2)
  }

  @Test("what is no prefix, no shard or no move is refused", arguments: ["eu", "", "/", "eu//", "@ephemeral/", "e u/"])
  func refused(_ prefix: String) throws {
    var map = try map()
    let before = map
    #expect(throws: ShardMap.Refusal.self) { try map.beginMove(prefix, to: 1) }
    #expect(throws: ShardMap.Refusal.self) { try map.beginMove("eu/", to: 7) }
    #expect(throws: ShardMap.Refusal.self) { try map.beginMove("eu/", to: 0) }
    #expect(map == before)
  }

  @Test("an address is one shard")
  func addresses() throws {
    var map = try map()
    #expect(try map.add("etcd://a/x") == 1)
    #expect(try map.add("etcd://c/x") == 3)
  }

  @Test("a root that does not answer is asked for its map once, however long that takes")
  func lookedOnce() {
    let map = ShardMap(version: 1, shards: [.init(number: 1, address: "second")], entries: [.init("eu/", in: 1)])
    // What the shard tells is not believed before the root has answered.
    var router = ShardRouter(map, open: [ShardMap.root, 1])
    func asked(_ times: Int) -> [UInt64] {
      var output = ShardRouter.Output()
      for _ in 0..<times { router.look(into: &output) }
      return output.calls.compactMap { if case (ShardMap.root, .sync(let number)) = $0 { number } else { nil } }
    }
    let first = asked(1_000)
    #expect(first.count == 1)
    var output = ShardRouter.Output()
    router.receive(.synced(first[0]), from: ShardMap.root, into: &output)
    #expect(router.isWaiting && asked(1_000).count == 1)
  }
}
