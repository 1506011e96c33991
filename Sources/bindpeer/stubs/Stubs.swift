import ArgumentParser
import BindingPeer
import BindingTerminal

/// Prints described models as types of a language.
struct Stubs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print described models as types of Swift, Python or TypeScript.",
    discussion: """
      Each type declares what the description says: types, ranges, choices, defaults, units. What a language cannot \
      declare stands there as a comment. Models with the same description share one type. A secret default is left out.

        bindpeer stubs shop/ --python > shop.py
      """)

  enum Language: String, EnumerableFlag {
    case swift, python, typescript
  }

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL, or PREFIX/.")
  var address: String
  @Flag(help: "The language.")
  var language: Language

  mutating func validate() throws {
    if common.json { throw ValidationError("stubs prints a program's text. As JSON:  bindpeer describe MODEL --json") }
  }

  mutating func run() async throws {
    let named = try Address(address)
    guard named.field == nil else { throw Failure(.usage, "stubs needs a model or a prefix, as in shop/") }
    let peer = try await common.connect()
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    let models = try await reader.read([named]).map { (id: $1.id, description: $1.modelDescription) }
    let described = models.filter { !StubField.of($0.description).isEmpty }
    guard !described.isEmpty else {
      let near = named.isPrefix ? nil : await reader.nearestModel(to: address)
      throw Failure(.no, "No model at \(excerpt(address)) is described.\(near.map { " Did you mean \($0)?" } ?? "")")
    }
    Terminal.print(Stubs.text(of: described, in: language))
    await peer.close(flush: .zero)
  }

  static func text(of models: [(id: String, description: ModelDescription)], in language: Language) -> String {
    switch language {
    case .swift: SwiftStubs.text(of: StubType.of(models, except: SwiftStubs.taken))
    case .python: PythonStubs.text(of: StubType.of(models, except: PythonStubs.taken))
    case .typescript: TypeScriptStubs.text(of: StubType.of(models, except: TypeScriptStubs.taken))
    }
  }
}
