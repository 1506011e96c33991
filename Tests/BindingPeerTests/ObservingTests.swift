import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Dispatch
import Testing

/// The updates that an observer received.
private final class UpdateRecorder: Sendable {
  private let updates = Protected<[ModelUpdate]>([])

  var all: [ModelUpdate] { updates.withLock { $0 } }

  func record(_ update: ModelUpdate) { updates.withLock { $0.append(update) } }

  /// Waits until a version has been delivered, at most 20 s.
  func wait(for version: Version) async -> Bool {
    let end = DispatchTime.now().uptimeNanoseconds + 20_000_000_000
    while !all.contains(where: { $0.version >= version }) {
      if DispatchTime.now().uptimeNanoseconds > end { return false }
      try? await Task.sleep(for: .milliseconds(2))
    }
    return true
  }
}

@Suite("Observing a model without types")
struct ObservingTests {
  private let hub: Hub
  private let writer: SharedModel
  private let reader: SharedModel

  init() async throws {
    hub = try Hub.embedded()
    writer = try Peer(name: "writer", hub: .inProcess(hub)).model("lamp")
    reader = try Peer(name: "reader", hub: .inProcess(hub)).model("lamp")
    for model in [writer, reader] { #expect(await model.whenCurrent(timeout: .seconds(20))) }
  }

  private func set(_ level: String) async throws -> Version {
    let value = FieldValue(bytes: Array(level.utf8))
    return try await writer.write(Proposal(operations: [FieldOperation(.set, "level", value)])).committed
  }

  @Test("a late observer first receives the present state, then each update once")
  func late() async throws {
    let early = UpdateRecorder()
    let earlyToken = reader.observe { update, _ in early.record(update) }
    #expect(early.all.isEmpty)
    #expect(await early.wait(for: try await set("1")))
    let late = UpdateRecorder()
    let lateToken = reader.observe { update, _ in late.record(update) }
    #expect(late.all.map(\.cause) == [.snapshot] && late.all.map(\.version) == [1])
    #expect(late.all.first?.changes.map(\.field) == ["level"])
    #expect(await late.wait(for: try await set("2")))
    #expect(late.all.flatMap(\.commits).map(\.version) == [2])
    #expect(early.all.flatMap(\.commits).map(\.version) == [1, 2])
    withExtendedLifetime((earlyToken, lateToken)) {}
  }

  @Test("an observer without a hub receives the writes that this peer has already made")
  func withoutHub() throws {
    let alone = try Peer(name: "alone", hub: "ipc:///nowhere/hub.sock").model("lamp")
    try alone.write(Proposal(operations: [FieldOperation(.set, "level", FieldValue(json: 1))]))
    let recorder = UpdateRecorder()
    let token = alone.observe { update, _ in recorder.record(update) }
    #expect(recorder.all.map(\.cause) == [.snapshot])
    #expect(recorder.all.flatMap(\.changes).map(\.field) == ["level"])
    #expect(recorder.all.first?.changes.first?.new == FieldValue(json: 1))
    withExtendedLifetime(token) {}
  }

  @Test("an observer that begins during writes misses none and receives none twice")
  func meeting() async throws {
    for round in 0..<50 {
      async let version = set("\(round)")
      let recorder = UpdateRecorder()
      let token = reader.observe { update, _ in recorder.record(update) }
      let last = try await version
      #expect(await recorder.wait(for: last))
      let (versions, commits) = (recorder.all.map(\.version), recorder.all.flatMap(\.commits).map(\.version))
      #expect(versions == versions.sorted())
      #expect(commits == commits.sorted() && Set(commits).count == commits.count)
      withExtendedLifetime(token) {}
    }
  }
}
