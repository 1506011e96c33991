import Testing

@testable import BindingPeer
@testable import BindingProtocol

/// One model without a session: the test makes the hub's messages and reads the model.
private final class SyncBench {
  let frames = PeerBench()
  var model = ModelSync(id: "lamp", now: 1_000, after: 0)
  var context = SessionContext(
    identity: PeerBench.identity, options: SessionOptions(), isResumed: false, keepsOutbox: false)
  var effects = PeerEffects()
  private var request: UInt32 = 0

  /// Asks to join, and is accepted.
  func join(follows: Joined.Follows, version: Version) -> Bool {
    request += 1
    model.join.topic = PeerBench.lamp
    _ = model.ask(as: request, now: 1_000, isJournalLagging: false)
    guard case .joined(let joined) = frames.joined(request, version: version, follows: follows) else { return false }
    return model.receive(joined, after: 0, now: 1_000, &context, &effects)
  }

  func chunk(
    _ fields: [Entry], from previous: Version? = nil, version: Version, chunk: UInt32 = 0, isLast: Bool = true,
    firstID: FieldID = 0
  ) -> Bool {
    let message = frames.chunk(
      request, from: previous, version: version, fields, chunk: chunk, isLast: isLast, firstID: firstID)
    guard case .catchup(let chunk) = message else { return false }
    return model.receive(chunk, after: 0, now: 1_000, &context, &effects)
  }

  func commits(after previous: Version, _ changes: [[FieldID: String?]], own: [Int: ProposalNumber] = [:]) {
    let frame = frames.commits(after: previous, changes, own: own).encode(topic: PeerBench.lamp, start: 7)
    frame.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      guard (try? HubHeader(from: &reader)) != nil else { return }
      try? model.receiveCommits(reader, in: bytes, now: 1_000, &context, &effects)
    }
  }

  func level() -> String? { model.shown("level")?.description }

  /// A model that has the level 0.3 at version 5.
  static func current() -> SyncBench {
    let bench = SyncBench()
    _ = bench.join(follows: .snapshot, version: 5)
    _ = bench.chunk([Entry(name: "level", value: "0.3", version: 5)], version: 5)
    return bench
  }
}

@Suite("One model follows the hub without a session")
struct ModelSyncTests {
  @Test("a snapshot is applied with its last chunk, not before")
  func snapshot() {
    let bench = SyncBench()
    #expect(!bench.join(follows: .snapshot, version: 5))
    #expect(!bench.chunk([Entry(name: "level", value: "0.3", version: 4)], version: 5, isLast: false))
    #expect(bench.level() == nil && !bench.model.join.isCurrent)
    #expect(bench.chunk([Entry(name: "on", value: "true", version: 5)], version: 5, chunk: 1, firstID: 1))
    #expect(bench.level() == "0.3" && bench.model.join.isCurrent && bench.model.replica.version == 5)
  }

  @Test("a chunk out of order is ignored")
  func chunkOutOfOrder() {
    let bench = SyncBench()
    _ = bench.join(follows: .snapshot, version: 5)
    #expect(!bench.chunk([Entry(name: "level", value: "0.3", version: 5)], version: 5, chunk: 1))
    #expect(bench.level() == nil)
  }

  @Test("a delta that begins beyond the version makes the model ask for everything")
  func deltaBeyond() {
    let bench = SyncBench.current()
    _ = bench.join(follows: .delta, version: 9)
    #expect(!bench.chunk([Entry(name: "level", value: "0.9", version: 9)], from: 7, version: 9))
    #expect(bench.level() == "0.3" && bench.model.join.isIdle && bench.model.join.startsOver)
    let join = bench.model.ask(as: 9, now: 1_000, isJournalLagging: false)
    #expect(join.version == 0 && join.epoch == 0)
  }

  @Test("commits behind a gap wait for the delta that closes it")
  func gap() {
    let bench = SyncBench.current()
    bench.commits(after: 6, [[0: "0.7"]])
    #expect(bench.level() == "0.3" && bench.model.join.isIdle && bench.context.counters.gaps == 1)
    _ = bench.join(follows: .delta, version: 6)
    #expect(bench.chunk([Entry(name: "level", value: "0.6", version: 6)], from: 5, version: 6))
    #expect(bench.level() == "0.7" && bench.model.replica.version == 7 && bench.model.join.isCurrent)
  }

  @Test("repeated commits are counted and change nothing")
  func repeated() {
    let bench = SyncBench.current()
    bench.commits(after: 4, [[0: "0.1"]])
    #expect(bench.level() == "0.3" && bench.context.counters.repeats == 1 && bench.model.join.isCurrent)
  }

  @Test("another digest at the same version makes the model start over, and the repair is counted once")
  func diverged() {
    let bench = SyncBench.current()
    let epoch = bench.model.replica.epoch
    bench.model.compare(epoch, 5, bench.model.replica.digest() &+ 1, now: 1_000, &bench.context, &bench.effects)
    #expect(bench.model.join.isIdle && bench.model.join.startsOver && bench.context.counters.divergences == 1)
    _ = bench.join(follows: .snapshot, version: 5)
    #expect(bench.chunk([Entry(name: "level", value: "0.4", version: 5)], version: 5))
    let ends = [bench.model.divergence.end(), bench.model.divergence.end()]
    #expect(bench.level() == "0.4" && ends == [true, false] && bench.model.divergence.count == 1)
  }

  @Test("the equal head of a complete model asks for nothing")
  func equalHead() {
    let bench = SyncBench.current()
    let (epoch, digest) = (bench.model.replica.epoch, bench.model.replica.digest())
    bench.model.compare(epoch, 5, digest, now: 1_000, &bench.context, &bench.effects)
    #expect(bench.model.join.isCurrent && bench.context.counters.divergences == 0)
  }

  @Test("an own commit is the outcome of its write and takes it from the overlay")
  func ownCommit() {
    let bench = SyncBench.current()
    let write = WriteID(rawValue: 1)
    let proposal = Proposal(operations: [FieldOperation(.set, "level", json("0.8"))])
    let pending = bench.model.pending(write, proposal, bytes: 64, at: 1_000)
    bench.model.write(pending, [:], superseding: [], bench.context, &bench.effects)
    #expect(bench.level() == "0.8" && bench.model.writes.count == 1)
    bench.model.number(write, bench.context, &bench.effects)
    bench.commits(after: 5, [[0: "0.8"]], own: [0: 1])
    #expect(bench.model.writes.isEmpty && bench.context.outcomes.hasOutcomes && bench.level() == "0.8")
  }

  @Test("a connection that is lost leaves values and pending writes, and nothing of the join")
  func disconnected() {
    let bench = SyncBench.current()
    bench.model.disconnect(heardAt: 3_000)
    #expect(bench.level() == "0.3" && bench.model.join.isIdle && bench.model.join.topic == nil)
    #expect(bench.model.join.staleSince == 3_000)
  }
}
