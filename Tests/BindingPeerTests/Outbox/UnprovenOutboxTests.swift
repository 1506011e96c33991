import BindbusTesting
import BindingHub
import BindingModel
import BindingProtocol
import Foundation
import Logging
import Testing

@testable import BindingPeer

/// A file from when tags were random and not derived from the secret. Its run had sent a set of `n` as number 2 and
/// had no outcome; sets of `level`, and of `on` and `note`, were not sent.
private enum OldFile {
  static let hex =
    "62696e646f75740a01000000e706edf4c8c6da6b230000000101000000f617c1926ed633a1820d1488f5ed9d7b185b2f16f9f804"
    + "0d056b696f736bc603133e150000000201000000a46b05decd6a0061edc45263010000002dd177a7450000000301000000010000"
    + "00000000001e780904a2010000046c616d700000000100000000026f6e040000007472756501000000026f6eedc4526301000000"
    + "000000000000000000026edb3312000000040100000001000000000000000100000000cd34635a0e000000060100000001000000"
    + "0000000001678dc1ce4000000003010000000200000000000000087c0904a2010000046c616d700000000100000000016e010000"
    + "003701000000016eedc452630100000000000000000000000059969e2a1200000004010000000200000000000000020000000023"
    + "d7f7fd4a0000000301000000030000000000000061970904a2010000046c616d700000000100000000056c6576656c0300000030"
    + "2e3801000000056c6576656cedc4526301000000000000000000000000f04b0e7071000000030100000004000000000000006297"
    + "0904a2010000046c616d700000000200000000026f6e0500000066616c736500046e6f74650300000022782202000000046e6f74"
    + "65edc4526301000000000000000000000000026f6eedc4526301000000010000000000000001a5bf4d51ef985c5b"
  static let log: LogID = 0x6100_6ACD_DE05_6BA4
  static let epoch: Epoch = 0x1_6352_C4ED

  static var bytes: [UInt8] {
    stride(from: 0, to: hex.utf8.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
  }

  static func content() throws -> OutboxContent {
    let read = try bytes.withUnsafeBytes { try OutboxLog.parse($0) }
    #expect(read.end == bytes.count)
    return read.content
  }
}

@Suite("An outbox with an unproven tag")
struct UnprovenOutboxTests {
  private let folder: OutboxFolder

  init() throws { folder = try OutboxFolder() }

  @Test("unsent writes become a run under the proven tag, sent ones stay behind, and this happens once")
  func adopted() throws {
    var content = try OldFile.content()
    let old = try #require(content.unfinished.first)
    #expect(old.identity.tag == Tag("f617c1926ed633a1") && !old.identity.isProven)
    let hasMoved = content.adoptUnproven()
    #expect(hasMoved)
    let runs = content.unfinished
    #expect(runs.map(\.number) == [1, 2] && content.lastRun == 2)
    #expect(runs[0].identity == old.identity && runs[0].writes.map(\.number) == [2])
    #expect(runs[1].identity == Identity(secret: old.identity.secret, name: "kiosk") && runs[1].identity.isProven)
    #expect(runs[1].log == OldFile.log && runs[1].epoch == OldFile.epoch && runs[1].lastNumbers.isEmpty)
    #expect(runs[1].writes == Array(old.writes.dropFirst()))
    let movesAgain = content.adoptUnproven()
    #expect(!movesAgain)
    let again = try content.compacted.withUnsafeBytes { try OutboxLog.parse($0) }.content
    #expect(again.unfinished == runs)
  }

  @Test("a file whose tag is proven is left as it is")
  func proven() throws {
    var content = OutboxContent()
    content.apply(OutboxRecord(run: 1, content: .began(PeerBench.identity)), bytes: 1)
    let write = KeptWrite(id: WriteID(rawValue: 1), model: "lamp", proposal: .set(["a": "1"]), time: 0, seen: [])
    content.apply(OutboxRecord(run: 1, content: .entry(.written(write))), bytes: 1)
    let before = content
    let hasMoved = content.adoptUnproven()
    #expect(!hasMoved && content == before)
  }

  @Test("opening an unproven file rewrites it in one step, with the same content on the next opening")
  func file() throws {
    let made = FileManager.default.createFile(
      atPath: folder.path(), contents: Data(OldFile.bytes), attributes: [.posixPermissions: 0o600])
    #expect(made)
    for _ in 0..<2 {
      let file = try OutboxFile.open(folder.path())
      #expect(
        file.unfinished.map(\.writes.count) == [1, 2] && file.unfinished.map(\.identity.isProven) == [false, true])
      let size = try FileManager.default.attributesOfItem(atPath: folder.path())[.size] as? Int
      #expect(size == file.size)
    }
  }

  @Test("a full disk leaves the unproven file as it is, and the peer does not start")
  func fullDisk() throws {
    let made = FileManager.default.createFile(
      atPath: folder.path(), contents: Data(OldFile.bytes), attributes: [.posixPermissions: 0o600])
    #expect(made)
    #expect(throws: OutboxError.self) { try OutboxFile.open(folder.path()) { _, _ in 0 } }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path())) == Data(OldFile.bytes))
  }

  private func bench(_ run: PreviousRun) -> PeerBench {
    var bench = PeerBench(Session(resuming: run, seed: 3, now: 1_000, wall: 0))
    (bench.log, bench.epoch) = (OldFile.log, OldFile.epoch)
    return bench
  }

  @Test("a sent write of an unproven run ends as unknown at the welcome, and is not sent")
  func sent() throws {
    var content = try OldFile.content()
    _ = content.adoptUnproven()
    var bench = bench(try #require(content.unfinished.first))
    #expect(bench.open().hellos.first?.identity.isProven == true)
    #expect(bench.session.unconfirmed == 1)
    let drain = bench.welcome()
    #expect(drain.entries == [.decided(WriteID(rawValue: 2), .unknown)])
    guard case .unknown(let reason)? = drain.outcomes.first else {
      Issue.record("\(drain.outcomes)")
      return
    }
    #expect(reason.contains("older version") && bench.session.unconfirmed == 0)
    #expect(drain.join.unacknowledged == 1, "the numbers of one tag say nothing of another's")
    #expect(bench.catchUp(drain.request, version: 1, []).proposals.isEmpty)
  }

  @Test("unsent writes of an unproven run are sent under the proven tag, numbered from 1")
  func unsent() throws {
    var content = try OldFile.content()
    _ = content.adoptUnproven()
    var bench = bench(try #require(content.unfinished.last))
    #expect(bench.open().hellos.first?.identity.isProven == true)
    let welcomed = bench.welcome()
    #expect(welcomed.join.unacknowledged == 1 && welcomed.settled.isEmpty)
    let on = Entry(name: "on", value: "true", version: 1)
    let sent = bench.catchUp(welcomed.request, version: 1, [on]).proposals
    #expect(sent.map(\.number) == [1, 2] && sent.map(\.operations.count) == [1, 2])
  }

  @Test("a peer with an unproven file shows all writes, ends the sent one as unknown, and commits the rest once")
  func restart() async throws {
    var configuration = Hub.Configuration()
    configuration.listen = []
    let hub = try Hub(
      configuration: configuration, logger: Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
    let scout = try Peer(name: "scout", hub: .inProcess(hub))
    #expect(await scout.whenLive(timeout: .seconds(20)))
    let (log, epoch) = scout.runtime.state.withLock { ($0.session.logID ?? 0, $0.session.epoch ?? 0) }
    let old = Identity(tag: Tag(rawValue: 0xF617), secret: .random(), name: "kiosk")
    try write(old, log: log, epoch: epoch)
    let link = TestLink(to: hub, isCut: true)
    let peer = try Peer(
      name: "kiosk", hub: .inProcess(link), configuration: .init(outbox: .file(folder.path())),
      logger: Logger(label: "peer", factory: { _ in SwiftLogNoOpLogHandler() }))
    let model = try peer.model("lamp")
    #expect(model["n"]?.description == "11" && model["level"]?.description == "0.8")
    let restored = peer.restored
    #expect(restored.count == 3)
    link.heal()
    var ends: [String: Int] = [:]
    for write in restored {
      switch await write.write.outcome {
      case .committed: ends["committed", default: 0] += 1
      case .unknown: ends["unknown", default: 0] += 1
      default: ends["other", default: 0] += 1
      }
    }
    #expect(ends == ["committed": 2, "unknown": 1])
    #expect(await eventually { model["n"]?.description == "1" && model["level"]?.description == "0.8" })
    #expect(await eventually { model.record("level")?.origin.tag == Tag(of: old.secret) })
    #expect(await eventually { peer.unconfirmed == 0 })
    #expect(await peer.close().isEmpty)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path())).count == OutboxLog.headerBytes)
    await scout.close()
  }

  /// Writes a file of which one addition, of 10, was sent as number 1; another, of 1, and a set were not.
  private func write(_ identity: Identity, log: LogID, epoch: Epoch) throws {
    func entry(_ id: UInt64, _ operation: FieldOperation) -> OutboxRecord.Content {
      let proposal = Proposal(operations: [operation])
      let time = OutboxFile.wall
      return .entry(
        .written(KeptWrite(id: WriteID(rawValue: id), model: "lamp", proposal: proposal, time: time, seen: [])))
    }
    var writer = WireWriter()
    writer.raw(OutboxLog.header)
    for content in [
      .began(identity), .entry(.welcomed(log: log, epoch: epoch)), entry(1, FieldOperation(.add, "n", json("10"))),
      .entry(.numbered(WriteID(rawValue: 1), 1, conditions: [])), entry(2, FieldOperation(.add, "n", json("1"))),
      entry(3, FieldOperation(.set, "level", json("0.8"))),
    ] as [OutboxRecord.Content] {
      OutboxLog.append(OutboxRecord(run: 1, content: content), to: &writer)
    }
    let made = FileManager.default.createFile(
      atPath: folder.path(), contents: writer.withUnsafeBytes { Data($0) }, attributes: [.posixPermissions: 0o600])
    #expect(made)
  }
}
