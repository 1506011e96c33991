import BindingHub
import BindingPeer
import Foundation
import Logging

/// Where the two processes of an example meet.
@MainActor
struct ExampleHub {
  let address: HubAddress
  /// Nil if a hub of this user runs already.
  private let own: Hub?

  /// The hub of this user; if none answers, one that lives in this process.
  static func atHand() async throws -> ExampleHub {
    // That there may be none is no news.
    let scout = try Peer(name: "scout", log: Logger(label: "scout") { _ in SwiftLogNoOpLogHandler() })
    let isLive = await scout.whenLive(timeout: .milliseconds(500))
    let found = scout.status.hub
    await scout.close(flush: .zero)
    if isLive, let found { return ExampleHub(address: try HubAddress(found), own: nil) }

    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var options = HubOptions()
    options.name = "example"
    options.listen = [try HubAddress("ipc://\(folder)/hub.sock")]
    let hub = try Hub(options: options, log: Logger(label: "hub") { _ in SwiftLogNoOpLogHandler() })
    try hub.start()
    return ExampleHub(address: options.listen[0], own: hub)
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

/// This program, started again.
@MainActor
struct SecondProcess {
  private let process = Process()

  init(models: String, hub: HubAddress) throws {
    guard let program = Bundle.main.executableURL else { throw Failure("cannot find its own program", of: "form") }
    process.executableURL = program
    process.arguments = ["--hub", "--as", "other", "--models", models]
    process.environment = ProcessInfo.processInfo.environment.merging(["BINDPEER_HUB": "\(hub)"]) { $1 }
    // Which it notices when this process is gone, however that came about.
    process.standardInput = Pipe()
    try process.run()
  }

  var isRunning: Bool { process.isRunning }

  /// Why the example failed, if the second process knows.
  var failure: Failure? {
    guard !process.isRunning, process.terminationStatus != 0 else { return nil }
    return Failure("the other process ended with code \(process.terminationStatus)", of: "form")
  }

  func end() {
    if process.isRunning { process.terminate() }
  }

  /// To be called in the second process: ends it with the first.
  static func endWithTheFirst() {
    Thread.detachNewThread {
      while !FileHandle.standardInput.availableData.isEmpty {}
      exit(EXIT_FAILURE)
    }
  }
}
