import ArgumentParser
import BindingHub
import BindingTerminal

/// `bindhub`: runs a hub, and queries or maintains a running one.
@main
struct BindHubCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindhub",
    abstract: "Orders, keeps and relays the changes of models that processes share.",
    discussion: """
      Exit codes:
        0  done                            74 the store or the output cannot be
        1  the answer is no                   read or written
        64 usage                           75 timed out
        69 no hub answers                  76 other version
        70 our bug, or a disk that does    78 refused configuration
           not confirm                     130 interrupted
        73 the address or the store is taken or cannot be made

      --hub, --store, --listen, --timeout and --json may also stand before the verb.
      For the shell: bindhub --generate-completion-script bash (or zsh, fish).
      """,
    version: "bindhub 0.1.0, protocol 0",
    subcommands: [
      Serve.self, Status.self, Web.self, VerifyReplicas.self, Backup.self, Restore.self, Recover.self, Check.self,
      Compact.self,
    ])

  private static let words = CommandWords(
    valued: ["--hub", "--store", "--listen", "--timeout"], flags: ["--json"],
    habits: [
      "start": "bindhub serve", "run": "bindhub serve", "listen": "bindhub serve", "stat": "bindhub status",
      "info": "bindhub status", "ps": "bindhub status", "version": "bindhub --version", "fsck": "bindhub check",
      "url": "bindhub web",
      "open": "bindhub web --open", "page": "bindhub web", "dashboard": "bindhub web",
      "vacuum": "bindhub compact", "dump": "bindhub backup", "get": "bindpeer get", "set": "bindpeer set",
      "put": "bindpeer set", "watch": "bindpeer watch", "ls": "bindpeer ls", "rm": "bindpeer rm",
    ])

  static func main() {
    if let word = CommandWords.unreadable {
      // Decoded as text it would name another file.
      fail("Argument \(word.number) is no UTF-8 text: \(word.text)", 64)
    }
    let arguments = words.verbFirst(Array(CommandLine.arguments.dropFirst()))
    if let complaint = words.complaint(arguments, of: BindHubCommand.self) { fail(complaint, 64) }
    do {
      var command = try parseAsRoot(WebChoice.completed(arguments))
      try command.run()
    } catch {
      leave(error)
    }
  }
}

/// Ends the program with a sentence on standard error and an exit code for scripts.
func fail(_ text: String, _ code: Int32) -> Never {
  StandardStreams.complain(text)
  StandardStreams.leave(code)
}

/// Prints a line of data. Shadows the library's `print`, which does not report lost output.
func print(_ line: String) { StandardStreams.print(line) }
