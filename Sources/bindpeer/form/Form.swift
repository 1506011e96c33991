import ArgumentParser
import BindingPeer
import BindingTerminal

/// Shows a model as a form that fills the terminal.
struct Form: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a model as a form: switches, sliders, choices and text, changed by keys.",
    discussion: """
      The model's description says which control a field has, its range, unit, title and help. Sliders, switches and \
      choices are written at each key, what is typed with Enter or on leaving the field. The form shows who else is in \
      the model and at which field, which writes have no outcome yet, and why one was refused.

      Ctrl-Z takes back this form's last write, unless somebody else has changed the field since. Ctrl-C ends.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL or MODEL.FIELD, where the form begins.")
  var address: String

  func validate() throws {
    if common.json { throw ValidationError("form is for people. For programs:  bindpeer watch MODEL --json") }
  }

  mutating func run() async throws {
    let named = try Address(address)
    guard !named.isPrefix, named.element == nil else { throw Failure(.usage, "form shows one model") }
    let peer = try await common.connect()
    let reader = ModelReader(peer: peer, timeout: common.timeout)
    let (address, model) = try await reader.read([named])[0]
    let fields = FormField.all(in: model)
    guard !fields.isEmpty else {
      let near = await reader.nearestModel(to: model.id).map { " Did you mean \($0)?" } ?? ""
      throw Failure(.no, "\(model.id) has no fields.\(near)")
    }
    if let field = address.field, !fields.contains(where: { $0.name == field }) {
      let near = nearest(to: field, among: fields.map(\.name)).map { " Did you mean \(model.id).\($0)?" } ?? ""
      throw Failure(.no, "\(model.id) has no field \(field).\(near)")
    }
    let session = FormSession(peer: peer, model: model, presence: await model.presence())
    let reason = try await session.run(from: address.field)
    let left = await peer.close(flush: .seconds(1))
    if let reason { throw reason.failure }
    if !left.isEmpty {
      throw Failure(.timedOut, "No outcome yet of what was written to \(left.joined(separator: ", ")).")
    }
  }
}
