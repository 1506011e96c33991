import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import Foundation
import Logging

/// Runs a hub that records each commit in a history before it is published.
struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a hub that keeps a history, until standard input ends.")

  @Option(help: "Where to listen; repeat for several.")
  var listen: [String]
  @Option(help: "The file with the models, or 'memory'.")
  var store: String
  @Option(help: "The history's file, to which each commit is appended.")
  var history: String

  func run() throws {
    var configuration = Hub.Configuration()
    configuration.listen = try listen.map { try HubAddress($0) }
    if store != "memory" { configuration.store = .sqlite(at: store, durability: .process) }
    configuration.wrapStore = { [history, name = configuration.name] store throws(StoreError) in
      try HistoryStore(store, path: history, hub: name)
    }
    var log = Logger(label: "bindlab") { StreamLogHandler.standardError(label: $0) }
    log.logLevel = .error
    OpenFiles.raise()
    let hub = try Hub(configuration: configuration, logger: log)
    try hub.start()
    FileHandle.standardOutput.write(Data("listening\n".utf8))
    Thread.detachNewThread {
      while !FileHandle.standardInput.availableData.isEmpty {}
      hub.stop()
    }
    try hub.wait()
  }
}
