import ArgumentParser
import BindingHub
import Foundation

/// `bindhub`: runs a hub, and asks a running one how it is.
@main
struct BindHubCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindhub",
    abstract: "Orders, keeps and relays the changes of models that processes share.",
    discussion: """
      Exit codes: 0 done, 1 the answer is no, 64 usage, 69 no hub, 70 our bug or a disk that does not confirm, 73 the
      address or the store is taken or cannot be made, 74 a store cannot be read or written, 75 timed out, 76 other
      version, 78 refused configuration, 130 interrupted.
      """,
    version: "bindhub 0.1.0, protocol 0",
    subcommands: [
      Serve.self, Status.self, VerifyReplicas.self, Backup.self, Restore.self, Check.self, Compact.self,
    ])

  static func main() { main(WebChoice.completed(Array(CommandLine.arguments.dropFirst()))) }
}

/// Ends the program with a sentence and the code that scripts look at.
func fail(_ text: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(code)
}
