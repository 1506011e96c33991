import BindbusTesting
import BindingPeer
import Foundation
import Testing

/// Peers that add 1 to `counter.count`, one addition after the other, until they are told to stop: afterwards the field
/// has to be the number of additions that were acknowledged.
final class CountingWriters: Sendable {
  private let state = Acknowledged()
  private let writing: Task<Void, any Error>

  /// Starts one writer at each of these hubs.
  init(at hubs: [String], of model: String = "counter") {
    let state = state
    writing = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, hub) in hubs.enumerated() {
          group.addTask { try await CountingWriters.count("writer-\(number)", at: hub, model, state) }
        }
        try await group.waitForAll()
      }
    }
  }

  deinit { writing.cancel() }

  private static func count(
    _ name: String, at hub: String, _ model: String, _ acknowledged: Acknowledged
  ) async throws {
    let peer = try Peer(name: name, hub: HubLocation(hub))
    let counter = try await peer.share(Counter.self, id: model, on: .direct, timeout: .seconds(30))
    while !acknowledged.isStopped {
      guard case .committed? = try await counter.$count.add(1).outcome(timeout: .seconds(60)) else {
        Issue.record("\(name): a write has no outcome, or another one")
        return
      }
      acknowledged.add()
    }
    await peer.close()
  }

  /// The additions that were acknowledged.
  var count: Int { state.count }

  /// - Returns: whether so many more additions were acknowledged within half a minute.
  func goOn(by more: Int) async -> Bool {
    let before = count
    return await eventually(timeout: .seconds(30)) { self.count > before + more }
  }

  /// Stops the writers.
  /// - Returns: the additions that were acknowledged.
  func end() async throws -> Int {
    state.stop()
    try await writing.value
    return count
  }
}

/// How many writes were acknowledged, and whether the writers shall stop.
private final class Acknowledged: @unchecked Sendable {  // SAFETY: `value` is touched only under `lock`
  private var value = (count: 0, isStopped: false)
  private let lock = NSLock()
  var count: Int { lock.withLock { value.count } }
  var isStopped: Bool { lock.withLock { value.isStopped } }
  func add() { lock.withLock { value.count += 1 } }
  func stop() { lock.withLock { value.isStopped = true } }
}
