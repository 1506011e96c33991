import BindingHub
import BindingPeer
import BindingTerminal
import Foundation

/// The hub that a recording is played into, and the program that runs with it.
// SAFETY: `program` is accessed only while `lock` is held; `signals` only by the thread that made this.
final class Stage: @unchecked Sendable {
  let hub: Hub
  let address: HubAddress
  private let folder: URL?
  private let lock = NSLock()
  private var program: Process?
  private var signals: [any DispatchSourceSignal] = []

  /// - Parameter listen: `local`, an address, or nil for a socket in a folder that only this user may enter.
  init(listen: String?) throws(Failure) {
    var folder: URL?
    do {
      var configuration = Hub.Configuration()
      configuration.name = "play"
      configuration.isPlayback = true
      switch listen {
      case "local": configuration.listen = [.userDefault]
      case let text?: configuration.listen = [try HubAddress(text)]
      case nil:
        let made = try Stage.makeFolder()
        folder = made
        configuration.listen = [try HubAddress("ipc://\(made.path)/hub.sock")]
      }
      hub = try Hub(configuration: configuration, logger: Terminal.logger)
      try hub.start()
    } catch let error as HubError {
      throw Failure(.cannotCreate, "\(error)")
    } catch let error as WireError {
      throw Failure(.usage, "--listen: \(error.problem)")
    } catch {
      throw Failure(.cannotCreate, "The hub's folder cannot be made: \(error.localizedDescription)")
    }
    self.folder = folder
    address = hub.addresses.first ?? .userDefault
  }

  private static func makeFolder() throws -> URL {
    let name = "bindpeer-play-\(ProcessInfo.processInfo.processIdentifier)"
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return folder
  }

  /// Runs a program that finds the hub in its environment.
  func start(_ command: [String]) throws(Failure) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(["BINDPEER_HUB": address.description]) { $1 }
    lock.lock()
    defer { lock.unlock() }
    do { try process.run() } catch {
      throw Failure(.usage, "\(excerpt(command[0])) cannot be run: \(error.localizedDescription)")
    }
    program = process
  }

  private var running: Process? {
    lock.lock()
    defer { lock.unlock() }
    return program?.isRunning == true ? program : nil
  }

  /// Waits until more sessions than these are open. Returns false when `timeout` passes, or the program ends, first.
  func whenJoined(besides known: Int, timeout: Duration) async -> Bool {
    let end = ContinuousClock.now + timeout
    while ContinuousClock.now < end {
      if await hub.play([]).sessionCount > known { return true }
      if running == nil { return false }
      try? await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  /// Ends the program and the hub at a signal too, with exit code 130.
  func closeAtSignals() {
    signals = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [self] in
        close()
        Terminal.leave(.interrupted)
      }
      source.resume()
      return source
    }
  }

  /// Ends the program and the hub.
  func close() {
    if let program = running {
      program.terminate()
      let end = Date(timeIntervalSinceNow: 2)
      while program.isRunning, Date() < end { usleep(10_000) }
      if program.isRunning { kill(program.processIdentifier, SIGKILL) }
    }
    hub.stop()
    if let folder { try? FileManager.default.removeItem(at: folder) }
  }
}

/// What programs write into a hub that a recording is played into.
final class StageWrites: Sendable {
  private struct State {
    var begin = ContinuousClock.now
    var writes: [WriteComparison.Write] = []
  }
  private let state = Protected(State())
  private let peer: Peer
  private let recorder: Recorder

  /// - Parameter recorded: the tags of the writers whose commits are played.
  init(at hub: Hub, besides recorded: Swift.Set<Tag>) async throws {
    let peer = try Peer(name: "play", hub: .inProcess(hub), logger: Terminal.logger)
    let state = state
    let recorder = Recorder { lines in
      for commit in lines.flatMap(\.content.commits) {
        guard !recorded.contains(commit.origin.tag), commit.origin.tag != .none else { continue }
        state.withLock { state in
          let time = (ContinuousClock.now - state.begin) / .seconds(1)
          state.writes += commit.changes.map {
            WriteComparison.Write(field: "\(commit.model).\($0.field)", value: $0.value, time: time)
          }
        }
      }
    }
    self.peer = peer
    self.recorder = recorder
    recorder.keep(
      try peer.models(under: "") { [weak recorder] id in
        if let model = try? peer.model(id, on: .direct) { recorder?.follow(model, as: id) }
      })
  }

  /// The time counts from now.
  func begin() { state.withLock { $0.begin = .now } }

  var all: [WriteComparison.Write] { state.withLock { $0.writes } }

  /// Waits for that many writes, and a little longer for one too many.
  func whenCount(_ count: Int, timeout: Duration) async {
    let end = ContinuousClock.now + timeout
    while ContinuousClock.now < end, state.withLock({ $0.writes.count }) < count {
      try? await Task.sleep(for: .milliseconds(10))
    }
    try? await Task.sleep(for: .milliseconds(100))
  }
}

extension HistoryLine.Content {
  /// The commits of a line; of a state, which is how a new model arrives, what is left of them.
  fileprivate var commits: [RecordedCommit] {
    switch self {
    case .recording: []
    case .commit(let commit, _): [commit]
    case .state(let state, _): state.commits
    }
  }
}
