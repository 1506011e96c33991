import ArgumentParser
import BindingPeer
import BindingTerminal
import Foundation

/// Keeps a file and a model the same.
struct Mirror: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Keep a JSON or YAML file and a model the same, both ways.",
    discussion: """
      A file whose name ends in .yaml or .yml has a line NAME: VALUE for each field; comments, blank lines and the \
      order stay. Any other file is one JSON object. What is saved to the file becomes one commit; what others write \
      to the model appears in the file, which is replaced in one step. A file that cannot be read as it is saved \
      changes nothing, and is not written before it can.

      At the start fields that only one side has are added to the other. If both have a field with different values, \
      --take says which of them count.

      Exit codes: 0 ended, or with --once both are the same; 1 the file was removed; 3 the two contradict each other, \
      or with --once a value was refused; 65 the file is not of its format.
      """)

  enum Side: String, ExpressibleByArgument, CaseIterable { case model, file }

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL")
  var model: String
  @Argument(help: "FILE. It is made, if there is none.", completion: .file())
  var file: String
  @Option(help: "Whose values count at the start where both have one: 'model' or 'file'.")
  var take: Side?
  @Flag(help: "End when both are the same.")
  var once = false

  mutating func run() async throws {
    let address = try Address(model)
    guard !address.isPrefix, address.field == nil else { throw Failure(.usage, "mirror needs one model") }
    let peer = try await common.connect()
    let shared = try await ModelReader(peer: peer, timeout: common.timeout).read([address])[0].1
    let isYAML = [".yaml", ".yml"].contains { file.lowercased().hasSuffix($0) }
    let run = MirrorRun(peer: peer, model: shared, path: file, common: common)
    if isYAML {
      try await run.start(with: YAMLDocument.self, taking: take)
    } else {
      try await run.start(with: JSONDocument.self, taking: take)
    }
    if once {
      try await run.settle()
      await peer.close(flush: .zero)
    } else {
      let number = try await run.follow()
      await peer.close(flush: .seconds(2))
      signal(number, SIG_DFL)
      raise(number)
    }
  }
}
