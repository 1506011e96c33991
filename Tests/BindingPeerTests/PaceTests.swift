import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Dispatch
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field var level = 0.0
  @Field var count = 0
}

/// Records what observers receive, on any thread.
private final class Recorder<Element: Sendable>: Sendable {
  private let elements = Protected<[Element]>([])
  var all: [Element] { elements.withLock { $0 } }
  func record(_ element: Element) { elements.withLock { $0.append(element) } }
}

private final class Owner: Sendable {}

/// A queue that stands still until it is released.
private struct StoppedQueue {
  let queue = DispatchQueue(label: "bindbus.test.stopped")
  private let gate = DispatchSemaphore(value: 0)

  init() { queue.async { [gate] in gate.wait() } }

  func letGo() { gate.signal() }
}

private func isRejected(_ status: FieldStatus) -> Bool {
  if case .problem = status { true } else { false }
}

@Suite("Observing a shared model at a pace")
struct PaceTests {
  private let hub: Hub
  private let writer: Lamp
  private let readers: Peer

  init() async throws {
    hub = try Hub.embedded()
    writer = try await Peer(name: "writer", hub: .inProcess(hub)).share(
      Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    readers = try Peer(name: "reader", hub: .inProcess(hub))
  }

  private func reader(on lane: Lane = .direct) async throws -> Lamp {
    let lamp = try await readers.share(Lamp.self, id: "lamp", on: lane, timeout: .seconds(20))
    // The defaults are commits too: those proposed here come first.
    #expect(await eventually { lamp.shared?.record("count")?.committed != nil })
    return lamp
  }

  /// Sets the count N times, each a commit of its own; returns the version of the last.
  private func count(to last: Int) async throws -> Version {
    var version: Version = 0
    for number in 1...last { version = try await writer.$count.write(number).committed }
    return version
  }

  @Test("a lagging lane receives the newest value and the number of coalesced commits", .timeLimit(.minutes(5)))
  func latest() async throws {
    let stopped = StoppedQueue()
    let lamp = try await reader(on: .queue(stopped.queue))
    let received = Recorder<ModelChange>()
    let token = lamp.observe(.latest(every: .zero)) { received.record($0) }
    let before = try #require(lamp.shared?.version.version)
    let last = try await count(to: 50)
    #expect(await eventually { lamp.shared?.version.version == last })
    stopped.letGo()
    #expect(await eventually { received.all.last?.version == last })
    #expect(received.all.last?["count"]?.description == "50")
    #expect(received.all.reduce(0) { $0 + $1.coalesced + 1 } == Int(last - before) + (received.all.count > 1 ? 1 : 0))
    withExtendedLifetime(token) {}
  }

  @Test("at an interval the first change arrives immediately, the last in time, and the counts add up")
  func interval() async throws {
    let lamp = try await reader()
    let received = Recorder<ModelChange>()
    let owner = Owner()
    lamp.observe(.latest(every: .milliseconds(30)), on: owner) { received.record($0) }
    let first = try #require(received.all.first)
    #expect(first.isBeginning && first.coalesced == 0)
    let last = try await count(to: 100)
    #expect(await eventually { received.all.last?.version == last })
    #expect(received.all.dropFirst().reduce(0) { $0 + $1.coalesced + 1 } == Int(last - first.version))
    #expect(received.all.dropFirst().allSatisfy { !$0.isBeginning })
  }

  @Test("everyChange delivers one change a commit, uncoalesced, to an observer that keeps up", .timeLimit(.minutes(5)))
  func everyChange() async throws {
    let lamp = try await reader()
    let received = Recorder<ModelChange>()
    let token = lamp.observe(.everyChange(limit: 1_000)) { received.record($0) }
    let last = try await count(to: 100)
    #expect(await eventually { received.all.last?.version == last })
    #expect(received.all.dropFirst().map { $0["count"]?.description } == (1...100).map { "\($0)" })
    #expect(received.all.allSatisfy { $0.coalesced == 0 })
    withExtendedLifetime(token) {}
  }

  @Test("past its limit everyChange coalesces, counts the commits, and loses no field", .timeLimit(.minutes(5)))
  func everyChangeWithALimit() async throws {
    let stopped = StoppedQueue()
    let lamp = try await reader(on: .queue(stopped.queue))
    let received = Recorder<ModelChange>()
    let token = lamp.observe(.everyChange(limit: 3)) { received.record($0) }
    _ = try await writer.$on.write(true).committed
    let last = try await count(to: 20)
    #expect(await eventually { lamp.shared?.version.version == last })
    stopped.letGo()
    #expect(await eventually { received.all.last?.version == last })
    #expect(received.all.map { $0["count"]?.description } == ["18", "19", "20"])
    #expect(received.all.first?["on"]?.description == "true")
    #expect(received.all.dropFirst().map(\.coalesced) == [0, 0])
    withExtendedLifetime(token) {}
  }

  @Test("a field's everyChange delivers each committed value in order", .timeLimit(.minutes(5)))
  func everyValue() async throws {
    let lamp = try await reader()
    let received = Recorder<[Int]>()
    let owner = Owner()
    lamp.$count.observe(.everyChange(limit: 1_000), on: owner) { received.record([$0, $1]) }
    _ = try await writer.$on.write(true).committed
    _ = try await count(to: 100)
    #expect(await eventually { received.all.count == 101 })
    #expect(received.all == (0...100).map { [$0, 0] })
  }

  @Test("a field's deadband suppresses small changes, and a larger one arrives")
  func deadband() async throws {
    let lamp = try await reader()
    let received = Recorder<Double>()
    let owner = Owner()
    lamp.$level.observe(.latest(every: .zero, deadband: 0.25), on: owner) { received.record($0) }
    for level in [0.125, 0.2, 0.25, 0.375, 0.5] { _ = try await writer.$level.write(level).committed }
    #expect(await eventually { lamp.level == 0.5 })
    #expect(await eventually { received.all.last == 0.5 })
    #expect(received.all == [0, 0.25, 0.5])
  }

  @Test("a model's deadband suppresses only numbers that changed little")
  func modelDeadband() async throws {
    let lamp = try await reader()
    let received = Recorder<ModelChange>()
    let token = lamp.observe(.latest(every: .zero, deadband: 0.25)) { received.record($0) }
    for level in [0.5, 0.625, 0.7] { _ = try await writer.$level.write(level).committed }
    _ = try await writer.change {
      $0.level = 0.72
      $0.on = true
    }.committed
    #expect(await eventually { received.all.last?["on"]?.description == "true" })
    #expect(received.all.dropFirst().map { $0.fields.keys.sorted() } == [["level"], ["on"]])
    #expect(received.all.last?.coalesced == 2)
    withExtendedLifetime(token) {}
  }

  @Test("an own write is delivered immediately, and its commit not again")
  func own() async throws {
    let received = Recorder<Double>()
    let token = writer.$level.observe(.everyChange()) { received.record($0) }
    _ = try await writer.$level.write(0.5).committed
    writer.level = 0.75
    #expect(received.all == [0, 0.5, 0.75])
    withExtendedLifetime(token) {}
  }

  @Test("nothing is delivered after cancel or the owner's end, and neither is kept alive")
  func endings() async throws {
    let received = Recorder<Int>()
    let token = writer.$count.observe(.latest(every: .milliseconds(1))) { received.record($0) }
    token.cancel()
    var owner: Owner? = Owner()
    weak let watched = owner
    if let owner { writer.observe(.everyChange(), on: owner) { _ in received.record(-1) } }
    owner = nil
    #expect(watched == nil)
    let before = received.all.count
    _ = try await writer.$count.write(1).committed
    _ = try await writer.$count.write(2).committed
    #expect(received.all.count == before)
  }

  @Test("a new observer of a field removes observers whose owner is gone, though the field never changed")
  func silentOrphan() async throws {
    let lamp = try await reader()
    var owner: Owner? = Owner()
    weak var held: Owner?
    if let owner {
      let captured = Owner()
      held = captured
      lamp.$on.observe(.everyChange(), on: owner) { _ in withExtendedLifetime(captured) {} }
    }
    owner = nil
    let token = lamp.$on.observe(.everyChange()) { _ in }
    #expect(held == nil)
    withExtendedLifetime(token) {}
  }

  @Test("a write in answer to a paced delivery counts hops like any other", .timeLimit(.minutes(5)))
  func hops() async throws {
    let lamp = try await reader()
    // Each answers the other endlessly; the hub ends it as a loop.
    let tokens = [
      lamp.$count.observe(.latest(every: .milliseconds(1))) { lamp.count = $0 + 1 },
      writer.$count.observe(.latest(every: .milliseconds(1))) { [writer] in writer.count = $0 + 1 },
    ]
    let fields = [lamp.$count, writer.$count]
    #expect(await eventually { fields.contains { isRejected($0.status) } })
    for token in tokens { token.cancel() }
  }

  @Test("a loop over changes gets the newest value and the number of coalesced commits", .timeLimit(.minutes(5)))
  func changes() async throws {
    let lamp = try await reader()
    var changes = lamp.changes(.latest(every: .milliseconds(5))).makeAsyncIterator()
    let first = try #require(await changes.next())
    #expect(first.isBeginning)
    let last = try await count(to: 50)
    var commits = 0
    while let change = await changes.next() {
      commits += change.coalesced + 1
      if change.version == last { break }
    }
    #expect(commits == Int(last - first.version))
  }

  @Test("a loop over a field's everyChange gets each value", .timeLimit(.minutes(5)))
  func values() async throws {
    let lamp = try await reader()
    var values = lamp.$count.values(.everyChange(limit: 1_000)).makeAsyncIterator()
    _ = try await count(to: 50)
    var found: [Int] = []
    while found.last != 50, let next = await values.next() { found.append(next.value) }
    #expect(found == Array(0...50))
  }
}
