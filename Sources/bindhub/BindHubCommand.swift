import ArgumentParser
import BindingHub
import BindingStore
import BindingTerminal
import ZeroMQ

/// `bindhub`: runs a hub, and queries or maintains a running one.
@main
struct BindHubCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindhub",
    abstract: "Run, query and maintain a hub: it orders, stores and relays the changes of shared models.",
    discussion: """
      Exit codes:
        0  success                         73 the address or the store is in use
        1  negative result                    or cannot be created
        64 usage error                     74 the store or the output cannot be
        69 no hub answers                     read or written
        70 internal error, or the disk     75 timeout
           did not confirm a write         76 incompatible version
        72 no browser was started          77 a right is missing
                                           78 refused configuration
                                           130 interrupted

      --hub, --store, --listen, --keys, --timeout and --json may also precede the command.
      Shell completion: bindhub --generate-completion-script bash (or zsh, fish).
      """,
    version: ProgramVersion.line(
      of: "bindhub", libraries: ["libzmq \(Context.libraryVersion)", "SQLite \(SQLiteLibrary.version)"]),
    subcommands: [
      Serve.self, ShowConfiguration.self, Status.self, Top.self, Drain.self, Web.self, VerifyReplicas.self,
      Backup.self, Restore.self, Recover.self, Check.self, Compact.self, StoredHistory.self, Shards.self, Keys.self,
      Invite.self, Admit.self, ListMembers.self, Revoke.self, Kick.self, Access.self,
    ])

  private static let words = CommandWords(
    valued: ["--hub", "--store", "--listen", "--keys", "--timeout"], flags: ["--json"],
    habits: [
      "start": "bindhub serve", "run": "bindhub serve", "listen": "bindhub serve", "stat": "bindhub status",
      "info": "bindhub status", "ps": "bindhub status",
      "htop": "bindhub top", "monitor": "bindhub top", "version": "bindhub --version", "fsck": "bindhub check",
      "url": "bindhub web",
      "open": "bindhub web --open", "page": "bindhub web", "dashboard": "bindhub web",
      "keygen": "bindhub keys init", "rotate": "bindhub keys rotate",
      "add": "bindhub invite", "ban": "bindhub kick", "users": "bindhub members",
      "forget": "bindhub history drop", "stop": "bindhub drain", "shutdown": "bindhub drain",
      "rights": "bindhub access", "acl": "bindhub access", "reload": "bindhub access apply",
      "join": "bindpeer join", "trust": "bindpeer trust", "vacuum": "bindhub compact", "dump": "bindhub backup",
      "cells": "bindhub shards", "shard": "bindhub shards", "move": "bindhub shards move",
      "get": "bindpeer get", "set": "bindpeer set",
      "put": "bindpeer set", "watch": "bindpeer watch", "ls": "bindpeer ls", "rm": "bindpeer rm",
    ],
    keyed: ["admit", "revoke"])

  static func main() {
    if let word = CommandWords.unreadable {
      // Decoded as text it would name another file.
      fail("Argument \(word.number) is not valid UTF-8: \(word.text)", 64)
    }
    if let complaint = words.complaint(arguments, of: BindHubCommand.self) { fail(complaint, 64) }
    do {
      var command = try parseAsRoot(WebChoice.completed(settings.map { [arguments[0]] + $0.words } ?? arguments))
      try command.run()
    } catch {
      if settings?.isMixed == true, exitCode(for: error) != .success {
        StandardStreams.complain("Not all options are from the command line. To see more:  bindhub config")
      }
      leave(error)
    }
  }

  /// The command line, the verb first.
  static let arguments = words.keysLast(words.verbFirst(Array(CommandLine.arguments.dropFirst())))

  /// The options of a hub from wherever they come; nil: this command takes none of them, or only tells of itself.
  static let settings: ServeSettings? = {
    guard let verb = arguments.first, Serve.takesOptions(verb), !arguments.contains("--help"), !arguments.contains("-h")
    else { return nil }
    do throws(ServeSettings.Problem) {
      return try .ofProcess(Array(arguments.dropFirst()))
    } catch {
      fail(error.text, error.code)
    }
  }()
}

/// Ends the program with a sentence on standard error and an exit code for scripts.
func fail(_ text: String, _ code: Int32) -> Never {
  StandardStreams.complain(text)
  StandardStreams.leave(code)
}

/// Prints a line of data. Shadows the library's `print`, which does not report lost output.
func print(_ line: String) { StandardStreams.print(line) }
