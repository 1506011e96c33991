import ArgumentParser
import BindingHub
import BindingProtocol
import Logging

/// The hub, as `bindhub serve --store memory` runs it, with a configurable limit of fields in a model.
struct ServeHub: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "serve-hub", shouldDisplay: false)
  @Option var listen: String
  @Option var maxFields = Limits().maxModelFields

  func run() throws {
    var configuration = Hub.Configuration()
    configuration.listen = [try HubAddress(listen)]
    configuration.limits.maxModelFields = maxFields
    let hub = try Hub(
      configuration: configuration, logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
    report(hub.addresses.map(\.description).joined(separator: " "))
    try hub.wait()
  }
}
