import BindingPeer
import BindingProtocol

/// The ephemeral model in histories with an edge: each writer has a field of its own in it, and announces something.
///
/// A writer sees its own field as it has written it, whatever is lost. At rest everybody sees all fields and all
/// announcements, each once, and nobody who is not there.
final class EdgeEphemerals {
  private let model: String
  private var chance: Chance
  /// Whether the writers join the ephemeral model in this history.
  let isOn: Bool
  private var fields: [String: String] = [:]
  private var announced: [String: String] = [:]

  init(of model: String, _ chance: Chance) {
    (self.model, self.chance) = (model, chance)
    isOn = self.chance.perMille(600)
  }

  private var ephemeral: String { Names.ephemeral(model) }

  /// What a writer joins.
  var models: [String] { isOn ? [model, ephemeral] : [model] }

  /// Lets some writer change what it has.
  func act(_ writers: [String], _ stage: EdgeStage) {
    guard isOn, chance.perMille(500) else { return }
    let writer = writers[chance.below(writers.count)]
    guard let peer = stage.peers[writer] else { return }
    let value = "\(chance.below(1_000))"
    let (field, isDeletion) = (chance.perMille(300) ? Names.me : "at-\(writer)", chance.perMille(200))
    if field == Names.me {
      announced[writer] = isDeletion ? nil : value
    } else {
      fields[writer] = isDeletion ? nil : value
    }
    stage.write(peer, [isDeletion ? FieldOperation(.delete, field) : .set(field, value)], ephemeral)
  }

  /// What a writer sees of itself.
  func problem(of name: String, _ peer: StagePeer, _ stage: EdgeStage) -> String? {
    guard isOn, let own = fields[name] else { return nil }
    let shown = stage.value(peer, "at-\(name)", ephemeral)
    return shown == own ? nil : "\(name) has set its ephemeral field to \(own), which shows \(shown ?? "nothing")"
  }

  /// What everybody sees at rest.
  func check(_ writers: [String], _ stage: EdgeStage) throws(Violation) {
    guard isOn else { return }
    var expected: [String: String] = [:]
    for (writer, value) in fields { expected["at-\(writer)"] = "\(value) of \(writer)" }
    for writer in writers {
      guard let peer = stage.peers[writer] else { continue }
      let (shown, present) = (stage.shown(peer, model), stage.present(peer, model))
      guard shown == expected else {
        throw Violation(.convergence, "\(writer) sees the ephemeral fields \(shown), which are \(expected)")
      }
      for other in writers where present[other] != announced[other] ?? "nothing" {
        throw Violation(
          .convergence,
          "\(writer) sees that \(other) announces \(present[other] ?? "nothing, and is not there"), which is "
            + "\(announced[other] ?? "nothing")")
      }
      if let stranger = present.keys.first(where: { !writers.contains($0) }) {
        throw Violation(.convergence, "\(writer) sees \(stranger), which is not there")
      }
    }
  }
}
