import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Foundation
import Synchronization
import Testing

private struct Named: Identifiable, Codable, Equatable, Sendable { var id: String }
private struct Unique: Identifiable, Codable, Equatable, Sendable { var id: UUID }
private struct Optionally: Identifiable, Codable, Equatable, Sendable { var id: Int? }
private struct Pair: Hashable, Codable, Sendable { var left = 0, right = 0 }
private struct Paired: Identifiable, Codable, Equatable, Sendable { var id = Pair() }

private struct NamedShow: Model { @Field(policy: .list) var cues: [Named] = [] }
private struct UniqueShow: Model { @Field(policy: .list) var cues: [Unique] = [] }
private struct OptionalShow: Model { @Field(policy: .list) var cues: [Optionally] = [] }
private struct PairedShow: Model { @Field(policy: .list) var cues: [Paired] = [] }
private struct Prepared: Model { @Field(policy: .list) var cues: [Cue] = [Cue(1, "first"), Cue(2, "second")] }
private struct Twice: Model { @Field(policy: .list) var cues: [Cue] = [Cue(1), Cue(1)] }

/// An element that counts how often one was decoded; no other test uses it.
private struct LongCue: Identifiable, Codable, Equatable, Sendable {
  var id: Int
  var name: String

  static let decoded = Atomic<Int>(0)

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }

  init(from decoder: any Decoder) throws {
    LongCue.decoded.add(1, ordering: .relaxed)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    id = try values.decode(Int.self, forKey: .id)
    name = try values.decode(String.self, forKey: .name)
  }
}

private struct LongShow: Model { @Field(policy: .list) var cues: [LongCue] = [] }

@Suite("A list that one program writes")
struct ListFieldTests {
  private func share<Shared: Model>(_ type: Shared.Type, _ hub: Hub, as name: String = "desk") async throws -> Shared {
    let shared = try await Peer(name: name, hub: .inProcess(hub)).share(
      type, id: "show", on: .direct, timeout: .seconds(20))
    // The description and the defaults.
    let isShow = type is Show.Type
    _ = await eventually {
      shared.shared?.record(Names.description)?.committed != nil && shared.status.unconfirmed == 0
        && (!isShow || shared.shared?.record("title")?.committed != nil)
    }
    return shared
  }

  private func settled(_ model: some Model) async -> Bool { await eventually { model.status.unconfirmed == 0 } }

  /// The operations of the model's commits from now on, as fields and values.
  /// - Parameter least: the commits to wait for: observers are told of one after its outcome is known.
  private func commits(
    of model: SharedModel, least: Int = 1, during body: () async throws -> Void
  ) async rethrows -> [[String]] {
    let version = model.version.version
    let seen = Protected<[[String]]>([])
    let latest = Protected(version)
    let token = model.observe { update, _ in
      for commit in update.commits where commit.version > version {
        seen.withLock { $0.append(commit.changes.map(\.field).sorted()) }
      }
      latest.withLock { $0 = max($0, update.version) }
    }
    try await body()
    _ = await eventually {
      model.status.unconfirmed == 0 && seen.withLock(\.count) >= least
        && latest.withLock(\.self) == model.version.version
    }
    token.cancel()
    return seen.withLock { $0 }
  }

  @Test("each change of the property is one commit of what it changes")
  func leastOperations() async throws {
    let show = try await share(Show.self, try Hub.embedded())
    let model = try #require(show.shared)
    _ = await settled(show)
    var fields = await commits(of: model) { show.cues = [Cue(1, "a"), Cue(2, "b"), Cue(3, "c")] }
    #expect(fields == [["cues", "cues@1", "cues@2", "cues@3"]])
    fields = await commits(of: model) { show.cues.append(Cue(4, "d")) }
    #expect(fields == [["cues", "cues@4"]])
    fields = await commits(of: model) { show.cues[1].name = "B" }
    #expect(fields == [["cues@2"]])
    fields = await commits(of: model) { show.cues.insert(show.cues.removeLast(), at: 0) }
    #expect(fields.allSatisfy { $0 == ["cues", "cues@4"] })
    fields = await commits(of: model) { show.cues.removeAll { $0.id == 1 } }
    #expect(fields == [["cues", "cues@1"]])
    fields = await commits(of: model, least: 0) { show.cues = show.cues }
    #expect(fields.isEmpty)
    #expect(show.cues.map(\.id) == [4, 2, 3] && show.cues[1].name == "B")
    fields = await commits(of: model) { show.cues.removeAll() }
    #expect(fields == [["cues", "cues@2", "cues@3", "cues@4"]])
    #expect(show.cues.isEmpty && model["cues"]?.description == "[]")
  }

  @Test("an element that moves and changes is one commit")
  func movedAndChanged() async throws {
    let show = try await share(Show.self, try Hub.embedded())
    show.cues = [Cue(1), Cue(2), Cue(3)]
    _ = await settled(show)
    let version = show.status.version
    let write = try show.$cues.write([Cue(2), Cue(3), Cue(1, "last")])
    #expect(show.cues == [Cue(2), Cue(3), Cue(1, "last")])
    #expect(try await write.committed == version + 1)
    #expect(show.cues == [Cue(2), Cue(3), Cue(1, "last")])
  }

  @Test("an assignment with an id twice, or a bad or missing one, writes nothing, and the status says why")
  func badIDs() async throws {
    let hub = try Hub.embedded()
    let show = try await share(Show.self, hub)
    show.cues = [Cue(1)]
    show.cues = [Cue(1), Cue(2), Cue(2)]
    #expect(show.cues == [Cue(1)])
    #expect(show.$cues.status.description.contains("two elements have the id 2"))
    // The commit of the write before it is no answer.
    #expect(await settled(show))
    #expect(show.$cues.status.description.contains("two elements have the id 2"))
    #expect(throws: FieldError.list(field: "cues", .duplicateID("2"))) { try show.$cues.write([Cue(2), Cue(2)]) }
    show.cues = [Cue(1), Cue(2)]
    #expect(!show.$cues.status.description.contains("two elements"))
    let named = try await share(NamedShow.self, hub, as: "other")
    #expect(throws: FieldError.list(field: "cues", .badID("a b", index: 0))) {
      try named.$cues.write([Named(id: "a b")])
    }
    #expect(throws: FieldError.list(field: "cues", .missingID(index: 0))) { try named.$cues.write([Named(id: "")]) }
    let long = String(repeating: "x", count: 41)
    #expect(throws: FieldError.list(field: "cues", .badID(long, index: 0))) { try named.$cues.write([Named(id: long)]) }
    let optional = try await share(OptionalShow.self, hub, as: "third")
    #expect(throws: FieldError.list(field: "cues", .missingID(index: 0))) {
      try optional.$cues.write([Optionally(id: nil)])
    }
  }

  @Test("more than 1,000 operations are refused before anything is sent, with the cure")
  func tooMany() async throws {
    let show = try await share(Show.self, try Hub.embedded())
    let many = (0..<1_001).map { Cue($0) }
    #expect(throws: FieldError.list(field: "cues", .tooManyOperations(1_001, limit: 1_000))) {
      try show.$cues.write(many)
    }
    #expect(show.cues.isEmpty)
    show.cues = Array(many.prefix(1_000))
    show.cues = many
    #expect(await eventually { show.status.unconfirmed == 0 && show.shared?.record("cues")?.committed != nil })
    #expect(show.cues.count == 1_001)
  }

  @Test("negative numbers, UUIDs and texts are ids")
  func ids() async throws {
    let hub = try Hub.embedded()
    let show = try await share(Show.self, hub)
    show.cues = [Cue(-5), Cue(.max), Cue(.min)]
    _ = await settled(show)
    #expect(show.shared?.record("cues@-5")?.committed != nil)
    let id = UUID()
    let unique = try await Peer(name: "u", hub: .inProcess(hub)).share(UniqueShow.self, id: "u", on: .direct)
    unique.cues = [Unique(id: id)]
    _ = await settled(unique)
    #expect(unique.shared?.record("cues@\(id.uuidString)")?.committed != nil)
  }

  @Test("a model whose list cannot be one is not shared, and the error says why")
  func misdeclared() async throws {
    let hub = try Hub.embedded()
    for (text, type) in [("type Pair", PairedShow.self as any Model.Type), ("two elements have the id 1", Twice.self)] {
      do {
        _ = try await share(type, hub)
        Issue.record("\(type) was shared")
      } catch {
        #expect("\(error)".contains(text), "\(error)")
      }
    }
  }

  @Test("a default that is not empty is inserted once, into a list that was never written")
  func defaults() async throws {
    let hub = try Hub.embedded()
    let show = try await share(Prepared.self, hub)
    #expect(show.cues.map(\.id) == [1, 2])
    #expect(await eventually { show.shared?.record("cues@2")?.committed != nil && show.status.unconfirmed == 0 })
    show.cues.removeAll()
    _ = await settled(show)
    let again = try await share(Prepared.self, hub, as: "again")
    #expect(again.cues.isEmpty)
    let version = show.status.version
    let third = try await share(Prepared.self, hub, as: "third")
    _ = await settled(third)
    #expect(third.cues.isEmpty && third.status.version == version)
  }

  @Test("what is appended before the default was inserted stands after it")
  func appendToDefault() async throws {
    let peer = try Peer(name: "desk", hub: .inProcess(try Hub.embedded()))
    let show = try await peer.share(Prepared.self, id: "show", on: .direct)
    show.cues.append(Cue(3, "third"))
    #expect(show.cues.map(\.id) == [1, 2, 3])
    #expect(await eventually { show.status.unconfirmed == 0 && show.shared?.record("cues@3")?.committed != nil })
    #expect(show.cues.map(\.id) == [1, 2, 3])
  }

  @Test("a program without the policy reads the array, and what it assigns is refused with the cure")
  func withoutPolicy() async throws {
    let hub = try Hub.embedded()
    let show = try await share(Show.self, hub)
    show.cues = [Cue(2, "b"), Cue(1, "a")]
    _ = await settled(show)
    let plain = try await share(PlainShow.self, hub, as: "plain")
    #expect(await eventually { plain.cues.map(\.id) == [2, 1] })
    show.cues.insert(Cue(3), at: 1)
    #expect(await eventually { plain.cues.map(\.id) == [2, 3, 1] })
    let write = try plain.$cues.write([Cue(9)])
    guard case .refused(let refusal) = await write.outcome else {
      Issue.record("\(await write.outcome)")
      return
    }
    #expect(refusal.code == .doesNotFit)
    #expect(await eventually { plain.cues.map(\.id) == [2, 3, 1] })
    #expect(plain.$cues.status.description.contains("rejected"))
    #expect(plain.shared?.values["cues"]?.description.hasPrefix("[{") == true)
    #expect(plain.shared?.values.keys.contains { $0.contains("@") && !$0.hasPrefix("@") } == false)
  }

  @Test("a field that holds an array shows its elements, and an assignment says that it is stored as one")
  func storedAsArray() async throws {
    let hub = try Hub.embedded()
    let plain = try await share(PlainShow.self, hub)
    plain.cues = [Cue(4, "d")]
    _ = await settled(plain)
    let show = try await share(Show.self, hub, as: "newer")
    #expect(show.cues == [Cue(4, "d")])
    #expect(throws: FieldError.list(field: "cues", .storedAsArray)) { try show.$cues.write([Cue(5)]) }
    show.cues.append(Cue(5))
    #expect(show.cues == [Cue(4, "d")])
  }

  @Test("a list that is not shared is local: it can be changed, observed by element, and takes no id twice")
  func local() {
    let show = Show()
    show.cues = [Cue(1, "a")]
    show.$cues[id: 1].name.value = "b"
    #expect(show.cues == [Cue(1, "b")])
    #expect(show.$cues[id: 1].value == Cue(1, "b") && show.$cues[id: 2].value == nil)
    show.cues = [Cue(1), Cue(1)]
    #expect(show.cues == [Cue(1, "b")])
  }

  @Test("a list and other fields are one commit in a change, in which the list reads as changed")
  func change() async throws {
    let show = try await share(Show.self, try Hub.embedded())
    show.cues = [Cue(1), Cue(2)]
    _ = await settled(show)
    let version = show.status.version
    _ = try await show.change { show in
      show.title = "x"
      for id in 3...5 { show.cues.append(Cue(id)) }
      show.cues.removeFirst()
      show.$cues[id: 4].name.value = "four"
      #expect(show.cues.map(\.id) == [2, 3, 4, 5] && show.cues[2].name == "four")
    }.committed
    #expect(show.status.version == version + 1)
    #expect(show.cues.map(\.id) == [2, 3, 4, 5] && show.cues[2].name == "four" && show.title == "x")
  }

  @Test("after one edit of 10,000 elements each program decodes that element alone")
  func long() async throws {
    let hub = try Hub.embedded()
    let show = try await share(LongShow.self, hub)
    for start in stride(from: 0, to: 10_000, by: 1_000) {
      show.cues += (start..<(start + 1_000)).map { LongCue(id: $0, name: "cue number \($0)") }
    }
    #expect(await eventually(timeout: .seconds(60)) { show.status.unconfirmed == 0 })
    let other = try await share(LongShow.self, hub, as: "other")
    #expect(await eventually { other.cues.count == 10_000 })
    let decoded = LongCue.decoded.load(ordering: .relaxed)
    show.cues[7_000].name = "Storm"
    #expect(await eventually { other.cues[7_000].name == "Storm" && show.status.unconfirmed == 0 })
    // The one here, which was written, and there; twice where two threads show the same change.
    #expect((2...4).contains(LongCue.decoded.load(ordering: .relaxed) - decoded))
  }
}
