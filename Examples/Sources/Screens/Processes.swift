import BindingHub
import BindingPeer
import Foundation
import Logging

/// The hub at which the two processes of an example meet.
@MainActor
struct ExampleHub {
  let address: HubAddress
  /// Nil if this user's hub is already running.
  private let own: Hub?

  /// Returns this user's hub or, if none answers, one in this process.
  static func atHand() async throws -> ExampleHub {
    // A missing hub is expected here, so it is not logged.
    let scout = try Peer(name: "scout", logger: Logger(label: "scout") { _ in SwiftLogNoOpLogHandler() })
    let isLive = await scout.whenLive(timeout: .milliseconds(500))
    let found = scout.status.hub
    await scout.close(flush: .zero)
    if isLive, let found { return ExampleHub(address: try HubAddress(found), own: nil) }

    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var configuration = Hub.Configuration()
    configuration.name = "example"
    configuration.listen = [try HubAddress("ipc://\(folder)/hub.sock")]
    let hub = try Hub(configuration: configuration, logger: Logger(label: "hub") { _ in SwiftLogNoOpLogHandler() })
    try hub.start()
    return ExampleHub(address: configuration.listen[0], own: hub)
  }

  func leave() {
    guard let own else { return }
    own.stop()
    try? FileManager.default.removeItem(atPath: ExampleHub.folder)
  }

  private static var folder: String {
    NSTemporaryDirectory() + "bindbus-example-\(ProcessInfo.processInfo.processIdentifier)"
  }
}

/// A second process of this program.
@MainActor
struct SecondProcess {
  private let process = Process()

  init(models: String, hub: HubAddress) throws {
    guard let program = Bundle.main.executableURL else { throw Failure("cannot find its own program", of: "form") }
    process.executableURL = program
    process.arguments = ["--hub", "--as", "other", "--models", models]
    process.environment = ProcessInfo.processInfo.environment.merging(["BINDPEER_HUB": "\(hub)"]) { $1 }
    // Its standard input closes when this process ends for any reason, which it notices.
    process.standardInput = Pipe()
    try process.run()
  }

  var isRunning: Bool { process.isRunning }

  /// The second process's failure, if it has failed.
  var failure: Failure? {
    guard !process.isRunning, process.terminationStatus != 0 else { return nil }
    return Failure("the other process ended with code \(process.terminationStatus)", of: "form")
  }

  func end() {
    if process.isRunning { process.terminate() }
  }

  /// Call this in the second process: it ends that process with the first.
  static func endWithTheFirst() {
    Thread.detachNewThread {
      while !FileHandle.standardInput.availableData.isEmpty {}
      exit(EXIT_FAILURE)
    }
  }
}

/// A folder for the file in which a peer keeps its writes and values.
struct KeepFolder {
  private let path = NSTemporaryDirectory() + "bindbus-example-keep-\(ProcessInfo.processInfo.processIdentifier)"

  init() throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  var keeping: Peer.Keeping { .file(path + "/values") }
  /// An address where no hub listens.
  var withoutHub: HubAddress { get throws { try HubAddress("ipc://\(path)/none.sock") } }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
