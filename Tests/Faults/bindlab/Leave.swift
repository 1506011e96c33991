import ArgumentParser
import BindingPeer
import Foundation
import Logging

/// The model that it assigns to.
struct Slate: Model {
  @Field var value = 0
}

/// A program that assigns a value and ends in one of the ways of programs that forget to close their peer.
struct Leave: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Assign a field, and end at once without closing the peer.",
    discussion: "Exit: 0, however the assignment fared.")

  enum Way: String, ExpressibleByArgument, CaseIterable {
    /// `main` returns.
    case returns
    /// `exit` is called directly.
    case exits
    /// Peer and model are released before `main` returns.
    case releases
    /// `exit` is called by the holder of a lock which an observer waits for, on the thread of the link.
    case locked
    /// `exit` is called by an observer, on the thread of the link.
    case observes
  }

  @Argument(help: "The model's id.")
  var model: String
  @Option(help: "What to assign to its field 'value'.")
  var value = 1
  @Option(help: "How to end.")
  var way = Way.returns
  @Option(help: "How many milliseconds an ending program waits for the hub; 0: it does not.")
  var bound: UInt64 = 1_000

  @Flag(help: "Say 'shared', and wait for a line of standard input before the assignment.")
  var afterLine = false

  func run() async throws {
    var configuration = Peer.Configuration()
    configuration.exitTimeout = .milliseconds(bound)
    let peer = try Peer(name: "leaver", configuration: configuration)
    if way == .releases { return try await assign(with: peer) }
    let slate = try await peer.share(Slate.self, id: model, on: .direct)
    if afterLine {
      FileHandle.standardOutput.write(Data("shared\n".utf8))
      _ = readLine()
    }
    switch way {
    case .returns: slate.value = value
    case .exits:
      slate.value = value
      Foundation.exit(0)
    case .locked: try await exitLocked(slate)
    case .observes:
      let value = value
      let token = slate.$value.statuses.observe { status in
        if case .pending(isInFlight: false, _) = status { return }
        if slate.value == value { Foundation.exit(0) }
      }
      slate.value = value
      try await Task.sleep(for: .seconds(60))
      withExtendedLifetime(token) {}
    case .releases: break
    }
    withExtendedLifetime(peer) {}
  }

  private func assign(with peer: Peer) async throws {
    let slate = try await peer.share(Slate.self, id: model, on: .direct)
    slate.value = value
  }

  private func exitLocked(_ slate: Slate) async throws {
    let lock = NSLock()
    let holder = Protected<pthread_t?>(nil)
    let token = slate.shared?.observe { _, _ in
      // The assigning thread is notified too, immediately.
      if holder.withLock({ $0 }) != pthread_self() { lock.withLock {} }
    }
    exitLocked(slate, lock, holder)
    withExtendedLifetime(token) {}
  }

  private func exitLocked(_ slate: Slate, _ lock: NSLock, _ holder: Protected<pthread_t?>) {
    lock.withLock {
      holder.withLock { $0 = pthread_self() }
      slate.value = value
      Foundation.exit(0)
    }
  }
}
