import ArgumentParser
import BindingPeer
import BindingTerminal
import ZeroMQ

/// `bindpeer`: read, write and watch shared models from a terminal.
@main
struct BindPeer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindpeer",
    abstract: "Read, write and watch models that processes share through a hub.",
    discussion: """
      Addresses:
        MODEL           a path, such as shop/kiosk-3
        MODEL.FIELD     one field of a model
        PREFIX/         every model under a prefix

      Assignments; all assignments to one model form one commit:
        MODEL.FIELD=VALUE   the declared type, else JSON, else text
        MODEL.FIELD:=JSON   JSON, sent byte for byte
        MODEL.FIELD=@FILE   the content of a file
        MODEL.FIELD=-       the content of standard input
        MODEL.FIELD+=N      the hub adds N
        MODEL.FIELD!        toggles true and false
      A VALUE that begins like JSON (" [ {) must be JSON; --text writes it as text.

      Default limits; a refusal names the limit of its hub:
        65,536 bytes in a value (maxValueBytes), 262,144 in a commit
        (maxProposalBytes), 1,000 fields in a commit (maxProposalFields), 100,000
        fields in a model (maxModelFields), 200 bytes in a model's name
        (maxModelIdBytes), 64 in a field's name (maxFieldNameBytes), 1,000 joined
        models per peer (maxTopics)

      Exit codes:
        0   success                       74  the output cannot be written
        1   negative result               75  timeout, or unknown outcome
        3   conflict or refusal           76  the hub speaks another protocol
        64  usage error                   77  the hub does not accept the invitation
        65  the value does not fit        78  the hub is not known, or the key for
        69  no hub answers                    it cannot be used
        72  exec: no such command         130 interrupted
        73  the outbox cannot be used

      --hub, --timeout, --name, --outbox, --keep and --json may also precede the command.
      Shell completion: bindpeer --generate-completion-script bash (or zsh, fish).
      """,
    version: ProgramVersion.line(of: "bindpeer", libraries: ["libzmq \(Context.libraryVersion)"]),
    groupedSubcommands: [
      CommandGroup(
        name: "Values",
        subcommands: [
          Get.self, Set.self, Reset.self, Remove.self, Watch.self, Form.self, Wait.self, Hold.self, Pipe.self,
          Mirror.self, Exec.self,
        ]),
      CommandGroup(name: "Models", subcommands: [List.self, Describe.self, Stubs.self, Export.self, Import.self]),
      CommandGroup(
        name: "The past", subcommands: [History.self, Blame.self, Revert.self, Record.self, Play.self]),
      CommandGroup(
        name: "The hub",
        subcommands: [
          Ping.self, Doctor.self, Bench.self, Hubs.self, JoinHub.self, TrustHub.self, RotateKey.self,
        ]),
    ])

  private static let words = CommandWords(
    valued: ["--hub", "--timeout", "--name", "--outbox", "--keep"], flags: ["--json"],
    habits: [
      "put": "bindpeer set", "write": "bindpeer set", "pub": "bindpeer set", "publish": "bindpeer set",
      "toggle": "bindpeer set MODEL.FIELD!", "incr": "bindpeer set MODEL.FIELD+=1",
      "del": "bindpeer rm", "delete": "bindpeer rm", "remove": "bindpeer rm", "unset": "bindpeer rm",
      "read": "bindpeer get", "cat": "bindpeer get", "show": "bindpeer get",
      "sub": "bindpeer watch", "subscribe": "bindpeer watch", "monitor": "bindpeer watch", "tail": "bindpeer watch",
      "edit": "bindpeer form", "sync": "bindpeer mirror", "check": "bindpeer doctor",
      "list": "bindpeer ls", "keys": "bindpeer ls", "peers": "bindpeer ls --peers", "version": "bindpeer --version",
      "log": "bindpeer history", "undo": "bindpeer revert", "annotate": "bindpeer blame",
      "stat": "bindhub status", "status": "bindhub status", "info": "bindhub status", "serve": "bindhub serve",
      "start": "bindhub serve", "verify": "bindhub verify", "backup": "bindhub backup",
    ],
    keyed: ["trust"])

  static func main() async {
    do {
      if let word = CommandWords.unreadable {
        throw Failure(
          .doesNotFit,
          """
          Argument \(word.number) is not valid UTF-8: \(word.text)
          Send bytes as {"$bytes":"<base64>"}, or from a file:  bindpeer set MODEL.FIELD=@FILE --bytes
          """)
      }
      let arguments = words.keysLast(words.verbFirst(Array(CommandLine.arguments.dropFirst())))
      if let complaint = words.complaint(arguments, of: BindPeer.self) { throw Failure(.usage, complaint) }
      try await perform(arguments)
    } catch let failure as Failure {
      Terminal.complain(failure.text)
      Terminal.leave(failure.code)
    } catch {
      leave(error)
    }
  }
}
