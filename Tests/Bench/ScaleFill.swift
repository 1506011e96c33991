import ArgumentParser
import BindingProtocol
import Foundation
import ZeroMQ

/// Fills models with fields of 32 bytes, a thousand in a proposal, then writes single changes on request.
struct ScaleFill: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "fill", shouldDisplay: false)
  @Option var request: String
  /// The prefix of the models' names.
  @Option var name = "scale/m"
  @Option var models = 1
  @Option var fields = 1

  private static let fieldsOfProposal = 1_000
  /// Proposals of a session in flight.
  private static let window = 8

  func run() throws {
    // Connecting waits for a line of input, so that a hub may be started meanwhile.
    report("here")
    guard readLine() != nil else { return }
    let begun = now()
    let connection = try ScaleConnection(
      .hub, request: request, publish: "", models: models, named: name,
      sessions: min(models, ScaleConnection.sessionCount))
    let joined = now()
    for first in stride(from: 0, to: fields, by: Self.fieldsOfProposal) {
      for session in connection.sessions { try put(first, in: session, over: connection) }
    }
    try connection.waitForAll()
    report("{\"joinedAt\":\(joined),\"doneAt\":\(now()),\"seconds\":\(Double(now() - begun) / 1e9)}")
    _ = readLine()
  }

  private func put(_ first: Int, in session: ScaleConnection.Session, over connection: ScaleConnection) throws {
    for index in session.models.indices {
      while session.underWay >= Self.window { try connection.receive(for: 1_000) }
      let operations = (first..<min(first + Self.fieldsOfProposal, fields)).map { field in
        // 32 bytes with the quotes: a model has at most a million fields.
        WireOperation(
          verb: .set, field: .name("field\(field)"),
          value: FieldValue(bytes: Array("\"thirty-two bytes, field\(1_000_000 + field)\"".utf8)))
      }
      let model = session.models[index]
      try connection.send(
        .propose([
          NumberedProposal(
            topic: model.topic, number: model.sent + 1, confirmed: model.acknowledged, operations: operations)
        ]), of: session)
      session.models[index].sent += 1
      session.underWay += 1
    }
  }
}
