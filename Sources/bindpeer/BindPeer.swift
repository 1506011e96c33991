import ArgumentParser
import BindingPeer
import BindingTerminal

/// `bindpeer`: read, write and watch shared models from a terminal.
@main
struct BindPeer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindpeer",
    abstract: "Read, write and watch models that processes share through a hub.",
    discussion: """
      Addresses:
        MODEL           a path, as shop/kiosk-3
        MODEL.FIELD     one field of it
        PREFIX/         every model below it

      Assignments; those to one model are one commit:
        MODEL.FIELD=VALUE   by the declared type, else JSON, else text
        MODEL.FIELD:=JSON   JSON, sent as it is typed
        MODEL.FIELD=@FILE   what the file holds
        MODEL.FIELD=-       what standard input holds
        MODEL.FIELD+=N      the hub adds N
        MODEL.FIELD!        toggles true and false
      What begins as JSON (" [ {) and is none is refused; --text takes it as it is.

      Limits, unless the hub says otherwise in its refusal:
        65,536 bytes in a value (maxValueBytes), 262,144 in a commit
        (maxProposalBytes), 1,000 fields in a commit (maxProposalFields), 100,000
        fields in a model (maxModelFields), 200 bytes in a model's name
        (maxModelIdBytes), 64 in a field's (maxFieldNameBytes), 1,000 models of one
        peer at a time (maxTopics)

      Exit codes:
        0  done                           69  no hub answers
        1  the answer is no               73  the outbox cannot be used
        3  conflict or refusal            74  the output cannot be written
        64 usage                          75  timed out, or no outcome is known
        65 the value does not fit         76  the hub speaks another protocol
        130 interrupted

      --hub, --timeout, --name, --outbox and --json may also stand before the verb.
      For the shell: bindpeer --generate-completion-script bash (or zsh, fish).
      """,
    version: "bindpeer 0.1.0, protocol 0",
    subcommands: [
      Get.self, Set.self, Reset.self, Remove.self, Watch.self, Wait.self, List.self, Describe.self, Pipe.self,
      Ping.self, Bench.self,
    ])

  private static let words = CommandWords(
    valued: ["--hub", "--timeout", "--name", "--outbox"], flags: ["--json"],
    habits: [
      "put": "bindpeer set", "write": "bindpeer set", "pub": "bindpeer set", "publish": "bindpeer set",
      "toggle": "bindpeer set MODEL.FIELD!", "incr": "bindpeer set MODEL.FIELD+=1",
      "del": "bindpeer rm", "delete": "bindpeer rm", "remove": "bindpeer rm", "unset": "bindpeer rm",
      "read": "bindpeer get", "cat": "bindpeer get", "show": "bindpeer get",
      "sub": "bindpeer watch", "subscribe": "bindpeer watch", "monitor": "bindpeer watch", "tail": "bindpeer watch",
      "list": "bindpeer ls", "keys": "bindpeer ls", "peers": "bindpeer ls --peers", "version": "bindpeer --version",
      "stat": "bindhub status", "status": "bindhub status", "info": "bindhub status", "serve": "bindhub serve",
      "start": "bindhub serve", "verify": "bindhub verify", "backup": "bindhub backup",
    ])

  static func main() async {
    do {
      if let word = CommandWords.unreadable {
        throw Failure(
          .doesNotFit,
          """
          Argument \(word.number) is no UTF-8 text: \(word.text)
          Send bytes as {"$bytes":"<base64>"}, or from a file:  bindpeer set MODEL.FIELD=@FILE --bytes
          """)
      }
      let arguments = words.verbFirst(Array(CommandLine.arguments.dropFirst()))
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
