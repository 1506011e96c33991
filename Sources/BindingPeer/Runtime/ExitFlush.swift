import BindingModel
import BindingProtocol
import Logging
import ZeroMQ

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Flushes the peers of this process when it ends by itself: `main` returns, top-level code is over, or `exit` is
/// called. Within a time limit, pending writes are sent and the hub gets a goodbye.
///
/// One `atexit` registration serves all peers, which are held weakly. A thread of its own does the work, and the
/// exiting thread waits for it: if that one holds a lock which observers need, the time limit ends the wait instead
/// of a deadlock. A signal that kills, `_exit`, `abort` and a crash run no `atexit` function: only an outbox file
/// survives them.
enum ExitFlush {
  /// A peer, and how long an ending program waits for it at most.
  private struct Entry: Sendable {
    weak var runtime: PeerRuntime?
    let madeAt: UInt64
    let timeoutMilliseconds: UInt64
  }
  private struct Registry: Sendable {
    var entries: [Entry] = []
    /// The process that registered: a fork of it has none of its threads.
    var process: pid_t?
  }
  private static let registry = Protected(Registry())
  /// How long goodbyes may take beyond the limit: mostly a millisecond, and longer only where a link stands still.
  private static let farewellMilliseconds: UInt64 = 1_000

  /// Registers a peer to be flushed at exit, unless its timeout is 0.
  static func enter(_ runtime: PeerRuntime, timeoutMilliseconds: UInt64) {
    guard timeoutMilliseconds > 0 else { return }
    let entry = Entry(runtime: runtime, madeAt: PeerRuntime.now, timeoutMilliseconds: timeoutMilliseconds)
    let isFirst = registry.withLock { registry in
      registry.entries.removeAll { $0.runtime == nil }
      registry.entries.append(entry)
      defer { registry.process = registry.process ?? getpid() }
      return registry.process == nil
    }
    if isFirst { atexit { ExitFlush.run() } }
  }

  private static func run() {
    let entries = registry.withLock { registry in
      registry.process == getpid() ? registry.entries.filter { $0.runtime != nil } : []
    }
    guard let longest = entries.map(\.timeoutMilliseconds).max() else { return }
    // If a link's own thread exits, that link is not waited for: it can perform nothing more.
    let own = PeerRuntime.onLink.occupant
    let thread = try? SocketThread(name: "bindpeer exit") { finish(entries, except: own) }
    _ = thread?.join(timeoutMilliseconds: Int(clamping: longest + farewellMilliseconds))
  }

  private static func finish(_ entries: [Entry], except own: PeerRuntime?) {
    let end = PeerRuntime.now
    for entry in entries {
      guard let runtime = entry.runtime, runtime !== own else { continue }
      let hadHub = runtime.state.withLock { $0.session.logID != nil }
      runtime.block(until: min(end, hadHub ? end : entry.madeAt) + entry.timeoutMilliseconds) { $0.isSettledForGood }
    }
    for entry in entries { entry.runtime?.reportLostWrites() }
    for entry in entries where entry.runtime !== own { entry.runtime?.end() }
    for entry in entries where entry.runtime !== own { entry.runtime?.link.join(milliseconds: farewellMilliseconds) }
  }
}

extension PeerRuntime.State {
  /// Whether no write waits that the end of the program would lose. Ephemeral ones end with it anyway.
  fileprivate var isSettledForGood: Bool {
    session.phase.isStopped || writes.unacknowledged.allSatisfy { Names.isEphemeral($0.model.id) }
  }
}

extension PeerRuntime {
  /// Logs, in one line, the writes that the end of the program leaves without an outcome.
  fileprivate func reportLostWrites() {
    let (counts, phase, isKept) = state.withLock { state in
      var counts: [String: Int] = [:]
      // Descriptions and defaults are not a loss: the next peer to share the model proposes them.
      for unacknowledged in state.writes.unacknowledged
      where !Names.isEphemeral(unacknowledged.model.id) && !unacknowledged.write.fields.contains(Names.description) {
        counts[unacknowledged.model.id, default: 0] += 1
      }
      return (counts, state.session.phase, state.outbox != nil && !state.isOutboxLagging)
    }
    guard !counts.isEmpty else { return }
    let lost = counts.sorted { $0.key < $1.key }.map { "\($0.value) to \($0.key)" }.joined(separator: ", ")
    let what = "the program ends with writes that have no outcome: \(lost)"
    if isKept {
      log.notice("\(what); the outbox stores them")
    } else if phase == .live {
      log.warning("\(what); the hub did not answer in time")
    } else {
      log.warning("\(what); they are lost, because \(noHub)")
    }
  }
}
