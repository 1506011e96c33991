import ArgumentParser
import BindingHub
import BindingWire
import Logging

/// The hub, as `bindhub serve --store memory` runs it.
struct ServeHub: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "serve-hub", shouldDisplay: false)
  @Option var listen: String

  func run() throws {
    var options = HubOptions()
    options.listen = [try HubAddress(listen)]
    let hub = try Hub(options: options, log: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
    tell(hub.addresses.map(\.description).joined(separator: " "))
    try hub.wait()
  }
}
