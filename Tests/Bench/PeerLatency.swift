import ArgumentParser
import BindingPeer
import BindingProtocol
import Dispatch
import Foundation

/// The model that both peers share: the moment of the last write.
struct Moment: Model {
  @Field var at = 0
}

/// The time from `moment.at = …` in one process to the observer of `$at` in another, including all of a peer's
/// work.
struct PeerLatency {
  let samples: Int

  func measure() throws -> Delays {
    let between = try Between(.hub, .ipc)
    defer { between.end() }
    let watcher = try Child(["watch-peer", "--hub", between.request, "--samples", "\(samples)"])
    defer { watcher.end() }
    let shared = try Shared<Moment>(between.request)
    let moment = try shared.model
    _ = try watcher.line()
    for _ in 0..<samples + 50 {
      moment.at = Int(now())
      usleep(500)
    }
    return try Delays(line: watcher.line())
  }
}

/// A model shared from a thread outside any task.
final class Shared<Kind: Model>: @unchecked Sendable {  // SAFETY: set once, before the semaphore admits a reader
  private var found: Kind?
  private let peer: Peer

  var model: Kind {
    get throws { try found ?? { throw NothingShared() }() }
  }

  init(_ hub: String) throws {
    peer = try Peer(name: "bench", hub: .at([HubAddress(hub)]))
    let ready = DispatchSemaphore(value: 0)
    Task.detached { [self] in
      found = try? await peer.share(Kind.self, id: "bench", on: .direct)
      _ = await peer.whenLive(timeout: .seconds(5))
      ready.signal()
    }
    ready.wait()
    _ = try model
  }
}

struct NothingShared: Error {}

/// The observing side.
struct WatchPeer: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "watch-peer", shouldDisplay: false)
  @Option var hub: String
  @Option var samples: Int

  func run() throws {
    let shared = try Shared<Moment>(hub)
    let (wanted, done) = (samples, DispatchSemaphore(value: 0))
    let delays = Gathered()
    let token = try shared.model.$at.observe { at in
      guard at > 0 else { return }
      if delays.add(now() - UInt64(at)) == wanted { done.signal() }
    }
    report("ready")
    done.wait()
    report(try Delays(of: delays.all).line)
    withExtendedLifetime(token) {}
  }
}

private final class Gathered: @unchecked Sendable {  // SAFETY: `delays` is touched only while `lock` is held
  private var delays: [UInt64] = []
  private let lock = NSLock()

  func add(_ delay: UInt64) -> Int {
    lock.withLock {
      delays.append(delay)
      return delays.count
    }
  }

  var all: [UInt64] { lock.withLock { delays } }
}
