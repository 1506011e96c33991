public import ArgumentParser
public import BindingPeer
import Foundation
import Logging

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

  /// Whether this is the second process of two, at which the person sits.
  public var isSecondProcess: Bool { role == .other }

  /// Plays the steps on a screen, and throws if it does not show the expected state within 10 s.
  /// - Parameters:
  ///   - keepsValues: whether the person's process keeps the values in a file. Afterwards it starts again without a
  ///     hub, and must show the same.
  ///   - alone: makes the screen on values of this process.
  ///   - shared: makes the screen on models of a hub, whose ids begin with the given text.
  @MainActor
  public func play<Shown: Screen>(
    _ steps: [Step<Shown>], keepsValues: Bool = false, alone: () -> Shown,
    shared: (Peer, String) async throws -> Shown
  ) async throws {
    if let models {
      // Earlier than the first process's deadline, so that this process can report what is missing.
      let deadline = Deadline(in: .seconds(8))
      guard keepsValues else {
        _ = try await playSecond(steps, on: models, keeping: nil, until: deadline, screen: shared)
        return
      }
      let folder = try KeepFolder()
      defer { folder.remove() }
      let last = try await playSecond(steps, on: models, keeping: folder.keeping, until: deadline, screen: shared)
      try await startWithoutHub(on: models, keeping: folder, expecting: last, screen: shared)
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

  /// Performs the steps of the person, and returns what the screen shows at the end.
  @MainActor
  private func playSecond<Shown: Screen>(
    _ steps: [Step<Shown>], on models: String, keeping: Peer.Keeping?, until deadline: Deadline,
    screen: (Peer, String) async throws -> Shown
  ) async throws -> [String] {
    SecondProcess.endWithTheFirst()
    let peer = try Peer(name: "other", keeping: keeping)
    let screen = try await screen(peer, models)
    try await Player(screen, process: "other", sides: [.person], until: deadline).play(steps)
    await peer.close(flush: .seconds(1))
    return screen.lines
  }

  /// Starts on what the file of an earlier peer keeps, at an address where no hub is.
  @MainActor
  private func startWithoutHub<Shown: Screen>(
    on models: String, keeping folder: KeepFolder, expecting last: [String],
    screen: (Peer, String) async throws -> Shown
  ) async throws {
    let peer = try Peer(
      name: "other", hub: .at([try folder.withoutHub]), keeping: folder.keeping,
      logger: Logger(label: "other") { _ in SwiftLogNoOpLogHandler() })
    let screen = try await screen(peer, models)
    Player(screen, process: "other", until: Deadline(in: .zero)).draw("a start without a hub")
    await peer.close(flush: .zero)
    if screen.lines != last { throw Failure("a start without a hub does not show the last values", of: "other") }
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
