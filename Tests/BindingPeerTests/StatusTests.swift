import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
  @Field(policy: .compareAndSet) var owner = "nobody"
  @Field(policy: .lastWrite.offline(.drops)) var mood = "calm"
}

private struct OtherLamp: Model {
  @Field(0...10) var level = 0.3
}

@Suite("Observable statuses")
struct StatusTests {
  private let hub: Hub
  private let transport: InterceptingTransport
  private let other: Peer
  private let peer: Peer

  init() throws {
    hub = try Hub.embedded()
    transport = InterceptingTransport(hub)
    var configuration = Peer.Configuration()
    configuration.offlineAge = .milliseconds(1)
    other = try Peer(name: "other", hub: .inProcess(hub))
    peer = try Peer(name: "peer", hub: .inProcess(transport), configuration: configuration)
  }

  private func share(_ peer: Peer, on lane: Lane = .direct) async throws -> Lamp {
    let lamp = try await peer.share(Lamp.self, id: "lamp", on: lane, timeout: .seconds(20))
    #expect(await eventually { lamp.shared?["mood"] != nil && peer.unconfirmed == 0 && lamp.status.isCurrent })
    return lamp
  }

  private func isCurrent(_ status: FieldStatus) -> Bool { if case .current = status { true } else { false } }

  /// Statuses without the parts that differ from run to run.
  private func kinds(_ statuses: [FieldStatus]) -> [String] {
    statuses.map { status in
      switch status {
      case .current: "current"
      case .stale: "stale"
      default: status.description
      }
    }
  }

  @Test("a write is pending, then in flight, then current; no status is delivered twice in a row")
  func write() async throws {
    let lamp = try await share(peer)
    let received = Protected<[FieldStatus]>([])
    let token = lamp.$level.statuses.observe { status in received.withLock { $0.append(status) } }
    #expect(kinds(received.withLock { $0 }) == ["current"])
    transport.keep { if case .propose = $0 { true } else { false } }
    lamp.level = 0.8
    #expect(await eventually { received.withLock { $0.last?.description } == "pending, in flight" })
    transport.keep { _ in false }
    #expect(await eventually { received.withLock { isCurrent($0[$0.count - 1]) } })
    let all = received.withLock { $0 }
    #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 })
    #expect(kinds(all) == ["current", "pending, in flight", "current"])
    token.cancel()
  }

  @Test("a write without a hub is pending since it was made, by a clock of this process")
  func pendingSince() async throws {
    let lamp = try await share(peer)
    transport.cut()
    #expect(await eventually { !peer.status.isLive })
    let before = SuspendingClock.now - .seconds(1)
    lamp.level = 0.8
    guard case .pending(isInFlight: false, let since) = lamp.$level.status else {
      Issue.record("\(lamp.$level.status)")
      return
    }
    #expect(since >= before && since <= .now)
    lamp.on = true
    #expect(lamp.$level.status == .pending(isInFlight: false, since: since))
    let status = lamp.status
    #expect(status.unconfirmed == 2 && status.inFlight == 0 && status.pendingSince == since && !status.isCurrent)
  }

  @Test("a lost link makes fields and model stale since the hub was last heard, a new one current again")
  func stale() async throws {
    let lamp = try await share(peer)
    let (field, model) = (Protected<[FieldStatus]>([]), Protected<[ModelStatus]>([]))
    let tokens = [
      lamp.$level.statuses.observe { status in field.withLock { $0.append(status) } },
      lamp.statuses.observe { status in model.withLock { $0.append(status) } },
    ]
    transport.cut()
    #expect(await eventually { field.withLock { kinds($0).last } == "stale" })
    guard case .stale(_, let since)? = field.withLock({ $0.last }) else { return }
    #expect(since <= .now)
    #expect(lamp.status.staleSince == since)
    #expect(peer.status.staleSince == since)
    transport.heal()
    #expect(await eventually { field.withLock { kinds($0).last } == "current" })
    #expect(await eventually { model.withLock { $0.last?.isCurrent } == true })
    #expect(peer.status.staleSince == nil)
    for token in tokens { token.cancel() }
  }

  @Test("a deferred write reports its reason until it is resent")
  func hold() async throws {
    let lamp = try await share(peer)
    let proposed = Protected(0)
    let received = Protected<[FieldStatus]>([])
    let token = lamp.$level.statuses.observe { status in received.withLock { $0.append(status) } }
    transport.keep { [transport] message in
      guard case .propose(let proposals) = message, let first = proposals.first else { return false }
      let isFirst = proposed.withLock { proposed in
        proposed += 1
        return proposed == 1
      }
      if isFirst {
        transport.answer { session in
          .outcomes(
            Outcomes(
              session: session, epoch: 1,
              outcomes: [
                WireOutcome(
                  topic: first.topic, number: first.number, .retryLater(.storeFull, pauseMilliseconds: 200))
              ]))
        }
      }
      return isFirst
    }
    lamp.level = 0.8
    #expect(await eventually { received.withLock { kinds($0).contains("waiting: storeFull") } })
    #expect(await eventually { received.withLock { kinds($0).last } == "current" })
    #expect(lamp.level == 0.8)
    token.cancel()
  }

  @Test("a refusal by the description reports its reason and the current value, until the program writes again")
  func refusal() async throws {
    _ = try await share(other)
    let lamp = try await share(peer)
    let wide = try await peer.share(OtherLamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await eventually { lamp.level == 0.3 && wide.level == 0.3 })
    let received = Protected<[FieldStatus]>([])
    let token = wide.$level.statuses.observe { status in received.withLock { $0.append(status) } }
    let tool = try other.model("lamp")
    #expect(await eventually { tool.modelDescription.fields["level"]?.maximum?.double == 10 })
    let narrow = FieldOperation(
      .set, "@description", try FieldValue(text: #"{"fields":{"level":{"type":"number","min":0,"max":1}}}"#))
    #expect(try await tool.write(Proposal(operations: [narrow])).committed > 0)
    #expect(await eventually { wide.status.problems["level"] != nil })
    wide.level = 7
    let refusal = FieldStatus.problem(
      .rejected("refused: lamp.level: 7 is not in 0...1", current: try FieldValue(text: "0.3")))
    #expect(await eventually { received.withLock { $0.last } == refusal })
    // What others write does not answer it.
    #expect(try await lamp.$level.write(0.4).committed > 0)
    #expect(await eventually { wide.level == 0.4 })
    #expect(wide.$level.status.description == refusal.description)
    #expect(wide.status.problems["level"] != nil && lamp.status.problems.isEmpty == false)
    wide.level = 0.5
    #expect(await eventually { received.withLock { $0.last?.description.hasPrefix("declared as") } == true })
    // What remains is that the two programs declare the field differently.
    guard case .describedOtherwise? = wide.status.problems["level"], wide.status.problems.count == 1 else {
      Issue.record("problems are \(wide.status.problems)")
      return
    }
    token.cancel()
  }

  @Test("an assignment that the declaration does not allow reports the reason and the current value")
  func refusedHere() async throws {
    let lamp = try await share(peer)
    let received = Protected<[FieldStatus]>([])
    let token = lamp.$level.statuses.observe { status in received.withLock { $0.append(status) } }
    lamp.level = 7
    guard case .problem(.rejected(let reason, let current))? = received.withLock({ $0.last }) else {
      Issue.record("\(received.withLock { $0 })")
      return
    }
    #expect(reason.contains("0...1") && current?.description == "0.3")
    lamp.level = 0.5
    #expect(await eventually { received.withLock { kinds($0).last } == "current" })
    token.cancel()
  }

  @Test("a lost comparison reports the other peer's value")
  func conflict() async throws {
    let (theirs, mine) = (try await share(other), try await share(peer))
    transport.cut()
    #expect(await eventually { !peer.status.isLive })
    mine.owner = "me"
    _ = try await theirs.$owner.write("them").committed
    transport.heal()
    #expect(await eventually { if case .problem = mine.$owner.status { true } else { false } })
    guard case .problem(.rejected(_, let current)) = mine.$owner.status else { return }
    #expect(current?.description == "\"them\"")
  }

  @Test("an expired write is reported as given up")
  func expiry() async throws {
    let (theirs, mine) = (try await share(other), try await share(peer))
    let received = Protected<[FieldStatus]>([])
    let token = mine.$mood.statuses.observe { status in received.withLock { $0.append(status) } }
    transport.cut()
    #expect(await eventually { !peer.status.isLive })
    mine.mood = "wild"
    _ = try await theirs.$mood.write("bright").committed
    transport.heal()
    #expect(await eventually { if case .problem? = received.withLock({ $0.last }) { true } else { false } })
    guard case .problem(.rejected(let reason, let current))? = received.withLock({ $0.last }) else { return }
    #expect(reason.contains("expired") && current?.description == "\"bright\"")
    token.cancel()
  }

  @Test("closing the peer ends a pending write as unknown, and leaves the model stale")
  func close() async throws {
    let lamp = try await share(peer)
    let (field, whole) = (Protected<[FieldStatus]>([]), Protected<[PeerStatus]>([]))
    let tokens = [
      lamp.$level.statuses.observe { status in field.withLock { $0.append(status) } },
      peer.statuses.observe { status in whole.withLock { $0.append(status) } },
    ]
    transport.keep { if case .propose = $0 { true } else { false } }
    lamp.level = 0.8
    await peer.close(flush: .zero)
    #expect(await eventually { whole.withLock { $0.last.map { $0.isStopped && $0.unconfirmed == 0 } } == true })
    #expect(await eventually { field.withLock { $0.last.map { isCurrent($0) } } == false })
    #expect(!lamp.status.isCurrent && lamp.status.unconfirmed == 0)
    #expect(field.withLock { $0.last } == lamp.$level.status)
    for token in tokens { token.cancel() }
  }

  @Test("the statuses of peer and model read as sentences")
  func sentences() async throws {
    let lamp = try await share(peer)
    #expect(await eventually { peer.status.unconfirmed == 0 })
    #expect("\(peer.status)" == "live, durability memory")
    #expect("\(lamp.status)" == "current, version \(lamp.status.version)")
    transport.keep { if case .propose = $0 { true } else { false } }
    lamp.level = 0.8
    #expect(await eventually { lamp.status.inFlight == 1 })
    #expect("\(peer.status)" == "live, durability memory; 1 write has no outcome")
    #expect("\(lamp.status)".hasSuffix("; 1 write has no outcome, 1 in flight"))
    transport.cut()
    #expect(await eventually { !peer.status.isLive })
    #expect("\(peer.status)" == "connecting to a hub; 1 write has no outcome")
    #expect("\(lamp.status)".hasPrefix("stale, version "))
    await peer.close(flush: .zero)
    #expect("\(peer.status)" == "stopped: closed")
  }

  @Test("a field described differently reports a mismatch with both rules")
  func mismatch() async throws {
    let lamp = try await share(other)
    let theirs = try await peer.share(OtherLamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    let tool = try other.model("lamp")
    #expect(await eventually { tool.modelDescription.fields["level"]?.maximum?.double == 10 })
    let text = #"{"fields":{"level":{"type":"number","min":0,"max":1,"default":0.3}}}"#
    let narrow = FieldOperation(.set, "@description", try FieldValue(text: text))
    #expect(try await tool.write(Proposal(operations: [narrow])).committed > 0)
    #expect(await eventually { if case .mismatch = theirs.$level.status { true } else { false } })
    guard case .mismatch(let declared, let described) = theirs.$level.status else { return }
    #expect(declared.maximum?.double == 10 && described.maximum?.double == 1)
    #expect(theirs.$level.status.description == "declared as number, 0...10, described as number, 0...1")
    #expect(isCurrent(lamp.$level.status))
  }
}
