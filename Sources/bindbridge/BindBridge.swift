import ArgumentParser
import BindingTerminal
import ZeroMQ

/// `bindbridge`: models in the languages of other systems.
@main
struct BindBridge: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindbridge",
    abstract: "Bridge models to other systems.",
    discussion: """
      Exit codes:
        0   ended by a signal         78  the password file cannot be used
        64  usage error
      """,
    version: ProgramVersion.line(of: "bindbridge", libraries: ["libzmq \(Context.libraryVersion)"]),
    subcommands: [MQTT.self])
}
