import BindbusTesting
import BindingHub
import BindingModel
import Dispatch
import Observation
import Testing

@testable import BindingPeer

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
}

@Suite("Fields, statuses and writes inside withObservationTracking, Observations and Derived")
struct TrackedFieldsTests {
  private let hub: Hub
  private let transport: InterceptingTransport
  private let peer: Peer
  private let other: Peer

  init() throws {
    hub = try Hub.embedded()
    transport = InterceptingTransport(hub)
    peer = try Peer(name: "peer", hub: .inProcess(transport))
    other = try Peer(name: "other", hub: .inProcess(hub))
  }

  private func share(_ peer: Peer, on lane: Lane = .direct) async throws -> Lamp {
    let lamp = try await peer.share(Lamp.self, id: "lamp", on: lane, timeout: .seconds(20))
    #expect(await eventually { lamp.shared?["level"] != nil && peer.unconfirmed == 0 && lamp.status.isCurrent })
    return lamp
  }

  /// Counts the change notifications of one tracked reading.
  private func track<Value>(_ read: () -> Value) -> Protected<Int> {
    let notified = Protected(0)
    withObservationTracking {
      _ = read()
    } onChange: {
      notified.withLock { $0 += 1 }
    }
    return notified
  }

  @Test("a tracked field notifies once of the next change, here or elsewhere, when the new value shows")
  func fields() async throws {
    // On the lane: an assignment there notifies before it returns.
    let queue = DispatchQueue(label: "tracked")
    let (mine, theirs) = (try await share(peer, on: .queue(queue)), try await share(other))
    let reads: [@Sendable () -> Double] = [
      { mine.level }, { mine.$level.value }, { mine.$level.binding.value },
      { mine.$level.binding.map(Inverted()).value },
    ]
    for (index, read) in reads.enumerated() {
      let found = Protected<[Double]>([])
      let level = 0.5 + Double(index) / 10
      queue.sync {
        withObservationTracking {
          _ = read()
        } onChange: {
          found.withLock { $0.append(mine.level) }
        }
        mine.level = level
        mine.level = 0.1
      }
      #expect(found.withLock { $0 } == [level])
    }
    #expect(await eventually { peer.unconfirmed == 0 && theirs.level == 0.1 })
    let notified = track { mine.level }
    theirs.level = 0.9
    #expect(await eventually { notified.withLock { $0 } == 1 })
    #expect(mine.level == 0.9)
  }

  @Test("a field that is not shared is tracked too")
  func local() {
    let mine = Lamp()
    let notified = track { mine.level }
    mine.level = 0.8
    #expect(notified.withLock { $0 } == 1)
  }

  @Test("a change of several fields notifies once, when all of them show")
  func oneCommit() async throws {
    let (mine, theirs) = (try await share(peer), try await share(other))
    let found = Protected<[String]>([])
    withObservationTracking {
      _ = (mine.level, mine.on)
    } onChange: {
      found.withLock { $0.append("\(mine.level) \(mine.on)") }
    }
    try theirs.change {
      $0.level = 0.7
      $0.on = true
    }
    #expect(await eventually { mine.on })
    #expect(await eventually { found.withLock { $0 } == ["0.7 true"] })
  }

  @Test(
    "a value read ahead of the lane notifies only if it falls back before the lane delivers it",
    arguments: [true, false])
  func readAhead(isFallingBack: Bool) async throws {
    let queue = DispatchQueue(label: "tracked")
    let lamp = try await share(peer, on: .queue(queue))
    queue.suspend()
    lamp.level = 0.8
    let notified = [track { lamp.level }, track { lamp.level }]
    if isFallingBack { lamp.level = 0.3 }
    queue.resume()
    #expect(await eventually { lamp.$level.status.isCurrent })
    queue.sync {}
    #expect(notified.map { $0.withLock { $0 } } == (isFallingBack ? [1, 1] : [0, 0]))
    #expect(lamp.level == (isFallingBack ? 0.3 : 0.8))
  }

  @Test("Observations delivers the values of a field, to the last")
  @MainActor
  func observations() async throws {
    let (mine, theirs) = (try await share(peer, on: .main), try await share(other))
    guard #available(macOS 26, *) else { return }
    let levels = Observations { mine.level }
    var found: [Double] = []
    var write: PendingWrite?
    for await level in levels {
      found.append(level)
      switch level {
      case 0.3: write = try mine.$level.write(0.5)
      case 0.5:
        _ = await write?.outcome
        theirs.level = 1
      default: break
      }
      if level == 1 { break }
    }
    #expect(found == [0.3, 0.5, 1])
  }

  @Test("a derived value follows the fields that it reads as soon as they show")
  func derived() async throws {
    let queue = DispatchQueue(label: "tracked")
    let mine = try await share(peer, on: .queue(queue))
    let theirs = try await share(other)
    let sum = Derived { mine.level + (mine.on ? 1 : 0) }
    let named = Derived(mine.$level) { $0 * 10 }
    #expect(sum.value == 0.3)
    #expect(named.value == 3)
    queue.suspend()
    mine.level = 0.5
    #expect(sum.value == 0.5)
    #expect(named.value == 5)
    queue.resume()
    let notified = Protected<[Double]>([])
    let token = queue.sync { sum.observe { value in notified.withLock { $0.append(value) } } }
    #expect(await eventually { peer.unconfirmed == 0 })
    try theirs.change {
      $0.level = 0.75
      $0.on = true
    }
    #expect(await eventually { notified.withLock { $0 } == [0.5, 1.75] })
    #expect(named.value == 7.5)
    token.cancel()
  }

  @Test("a derived value shows nothing of a draft")
  func draft() async throws {
    let lamp = try await share(peer)
    let double = Derived { lamp.level * 2 }
    try lamp.change {
      $0.level = 0.5
      #expect($0.level == 0.5)
      #expect(double.value == 0.6)
    }
    #expect(double.value == 1)
  }

  @Test("a field that is only read and observed keeps nothing for tracking")
  func untracked() async throws {
    let (mine, theirs) = (try await share(peer), try await share(other))
    let token = mine.$level.observe { _ in }
    theirs.level = 0.9
    #expect(await eventually { mine.level == 0.9 })
    #expect(await eventually { mine.$level.cell.published.value == 0.9 })
    #expect(!mine.$level.cell.isTracked)
    _ = track { mine.level }
    #expect(mine.$level.cell.isTracked)
    #expect(!mine.$on.cell.isTracked)
    token.cancel()
  }

  @Test("the statuses of fields, models and peers are tracked, and released once they notified")
  func statuses() async throws {
    let lamp = try await share(peer)
    let model = try #require(lamp.shared)
    let ofField = track { lamp.$level.status }
    let ofModel = track { lamp.status }
    let ofStatuses = track { lamp.statuses.value }
    let ofPeer = track { peer.status }
    let ofNumber = track { peer.unconfirmed }
    let all = [ofField, ofModel, ofStatuses, ofPeer, ofNumber]
    #expect(all.map { $0.withLock { $0 } } == [0, 0, 0, 0, 0])
    transport.keep { if case .propose = $0 { true } else { false } }
    lamp.level = 0.8
    #expect(await eventually { all.map { $0.withLock { $0 } } == [1, 1, 1, 1, 1] })
    #expect(peer.unconfirmed == 1)
    transport.keep { _ in false }
    #expect(await eventually { lamp.$level.status.isCurrent && peer.unconfirmed == 0 })
    // A reporter that has notified is checked once more, and then released.
    lamp.level = 0.7
    #expect(await eventually { lamp.$level.status.isCurrent && peer.unconfirmed == 0 })
    #expect(await eventually { model.observers.staged.withLock { $0.statuses.reporters.isEmpty } })
    #expect(await eventually { peer.runtime.state.withLock { $0.observed.models.isEmpty && !$0.observed.isPeer } })
    #expect(all.map { $0.withLock { $0 } } == [1, 1, 1, 1, 1])
  }

  @Test("untyped reads are tracked, notified of relevant changes only, and released after the notification")
  func untyped() async throws {
    let (mine, theirs) = (try await share(peer), try await share(other))
    let model = try #require(mine.shared)
    let level = Derived { model["level"]?.description ?? "none" }
    let received = Protected<[String]>([])
    let token = level.observe { text in received.withLock { $0.append(text) } }
    let (ofLevel, ofOn, ofAll) = (track { model["level"] }, track { model["on"] }, track { model.values.count })
    let ofBeing = track { model.isCurrent }
    theirs.level = 0.9
    #expect(await eventually { received.withLock { $0 } == ["0.3", "0.9"] })
    #expect([ofLevel, ofOn, ofAll, ofBeing].map { $0.withLock { $0 } } == [1, 0, 1, 0])
    mine.level = 0.5
    // Before the write returns, unless the thread that has told of the other's write is still at it.
    #expect(await eventually { received.withLock { $0.last } == "0.5" })
    token.cancel()
    theirs.on = true
    #expect(await eventually { ofOn.withLock { $0 } == 1 })
    await peer.close()
    #expect(await eventually { ofBeing.withLock { $0 } == 1 })
    #expect(ofLevel.withLock { $0 } == 1 && ofAll.withLock { $0 } == 1)
  }

  @Test("a derived value follows statuses, and is right before its notification")
  func derivedStatuses() async throws {
    let queue = DispatchQueue(label: "tracked")
    let lamp = try await share(peer, on: .queue(queue))
    let pending = Derived { lamp.status.unconfirmed + peer.status.unconfirmed }
    #expect(pending.value == 0)
    transport.keep { if case .propose = $0 { true } else { false } }
    queue.suspend()
    lamp.level = 0.8
    #expect(pending.value == 2)
    queue.resume()
    let notified = Protected<[Int]>([])
    let token = pending.observe { count in notified.withLock { $0.append(count) } }
    transport.keep { _ in false }
    #expect(await eventually { notified.withLock { $0.last } == 0 })
    #expect(pending.value == 0)
    token.cancel()
  }

  @Test("presence is tracked")
  func presence() async throws {
    let lamp = try await share(peer)
    let here = try await lamp.presence(timeout: .seconds(20))
    let names = Derived { here.peers.map(\.name) }
    #expect(names.value == ["peer"])
    let notified = track { here.peers }
    let token = try await share(other).presence(timeout: .seconds(20))
    #expect(await eventually { notified.withLock { $0 } == 1 })
    #expect(here.peers.map(\.name) == ["peer", "other"])
    #expect(names.value == ["peer", "other"])
    withExtendedLifetime(token) {}
  }

  @Test("the outcome of a write is tracked while there is none")
  func writes() async throws {
    let lamp = try await share(peer)
    transport.keep { if case .propose = $0 { true } else { false } }
    let write = try lamp.$level.write(0.8)
    let notified = track { write.outcomeSoFar }
    let stands = track { write.current }
    let isDecided = Derived { write.outcomeSoFar != nil }
    #expect(!isDecided.value)
    #expect(notified.withLock { $0 } == 0)
    transport.keep { _ in false }
    _ = await write.outcome
    #expect(await eventually { notified.withLock { $0 } == 1 && stands.withLock { $0 } == 1 })
    #expect(isDecided.value)
  }
}

private struct Inverted: Mapping {
  func forward(_ source: Double) -> Double { 1 - source }
  func back(_ target: Double) throws(BindingError) -> Double { 1 - target }
}

extension FieldStatus {
  fileprivate var isCurrent: Bool { if case .current = self { true } else { false } }
}
