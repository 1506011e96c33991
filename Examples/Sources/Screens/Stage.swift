public import ArgumentParser
public import BindingPeer
import Foundation

/// The options of every example. Plays it in one process, or in two that share the models of a hub.
public struct Stage: ParsableArguments {
  @Flag(
    name: .customLong("hub"), help: "Play in two processes: the first has the model, the person sits at the second.")
  var isShared = false

  @Option(name: .customLong("as"), help: .hidden)
  var role: Role?

  @Option(name: .customLong("models"), help: .hidden)
  var models: String?

  enum Role: String, ExpressibleByArgument {
    case other
  }

  /// Creates the options with their defaults.
  public init() {}

  /// Throws a usage error if only one of `--as` and `--models` is given.
  public func validate() throws {
    if (role == nil) != (models == nil) { throw ValidationError("--as and --models go together") }
  }

  /// Plays the steps on a screen, and throws if it does not show the expected state within 10 s.
  /// - Parameters:
  ///   - alone: makes the screen on values of this process.
  ///   - shared: makes the screen on models of a hub, whose ids begin with the given text.
  @MainActor
  public func play<Shown: Screen>(
    _ steps: [Step<Shown>], alone: () -> Shown, shared: (Peer, String) async throws -> Shown
  ) async throws {
    if let models {
      // Earlier than the first process's deadline, so that this process can report what is missing.
      try await playSecond(steps, on: models, until: Deadline(in: .seconds(8)), screen: shared)
    } else if isShared {
      let hub = try await ExampleHub.atHand()
      defer { hub.leave() }
      try await playFirst(steps, at: hub, screen: shared)
    } else {
      try await Player(alone(), until: Deadline(in: .seconds(10))).play(steps)
    }
  }

  /// Starts the second process, and performs the steps of the model.
  @MainActor
  private func playFirst<Shown: Screen>(
    _ steps: [Step<Shown>], at hub: ExampleHub, screen: (Peer, String) async throws -> Shown
  ) async throws {
    let peer = try Peer(name: "form", hub: .at([hub.address]))
    let models = "examples/\(ProcessInfo.processInfo.processName)-\(peer.tag.short)/"
    let screen = try await screen(peer, models)
    let other = try SecondProcess(models: models, hub: hub.address)
    defer { other.end() }
    let deadline = Deadline(in: .seconds(10)) { other.failure != nil }
    do {
      try await Player(screen, process: "form", sides: [.model], until: deadline).play(steps)
      guard try await deadline.wait(until: { !other.isRunning }) else {
        throw Failure("the other process does not end", of: "form")
      }
    } catch {
      await peer.close(flush: .zero)
      throw other.failure ?? error
    }
    if let failure = other.failure { throw failure }
    try await peer.removeAll(below: models)
    await peer.close(flush: .seconds(1))
  }

  /// Performs the steps of the person.
  @MainActor
  private func playSecond<Shown: Screen>(
    _ steps: [Step<Shown>], on models: String, until deadline: Deadline,
    screen: (Peer, String) async throws -> Shown
  ) async throws {
    SecondProcess.endWithTheFirst()
    let peer = try Peer(name: "other")
    try await Player(try await screen(peer, models), process: "other", sides: [.person], until: deadline).play(steps)
    await peer.close(flush: .seconds(1))
  }
}

extension Peer {
  /// Removes the models of an example from a hub that continues to run.
  fileprivate func removeAll(below prefix: String) async throws {
    for listing in await list(prefix, timeout: .seconds(1)) ?? [] {
      try model(listing.id).remove()
    }
  }
}
