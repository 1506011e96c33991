import BindingHub
import BindingProtocol

/// What replicas brought back after a loss, and the names that a model gives up.
extension LogOracle {
  /// The value that attackers write and offer.
  static let forged = FieldValue(bytes: Array("\"forged\"".utf8))

  /// Whether this unique value of a field was recovered from a lost epoch.
  func isRecovered(_ value: FieldValue, in field: Int, of model: Int) -> Bool {
    point(of: value, in: field, of: model).flatMap { entry($0) }?.isRecovered ?? false
  }

  /// A recovered value is committed under the name of the peer that offered it; a forged value under no other name
  /// than its liar's.
  func enterRecovered(_ value: FieldValue?, in field: Int, _ name: Name, _ point: Point) throws(Violation) {
    if value == LogOracle.forged {
      let isKnown = claims.forgeries.contains(.init(model: point.model, field: field))
      guard isKnown || claims.attackers.contains(name.tag) else {
        throw Violation(
          .noPhantom, "the forged value of an attacker is in \(title(point)) as written by \(name.tag.short)")
      }
      claims.forgeries.insert(.init(model: point.model, field: field))
      return
    }
    // The hub counts the elements that it has recovered.
    if field == SimulatedField.head { return }
    if let value, !claims.hasStood(value, in: field, of: point.model), !claims.attackers.contains(name.tag) {
      throw Violation(
        .noPhantom,
        "\(name.tag.short) recovered \(describe(value)) in \(SimulatedField.names[field]), which never had that value")
    }
    if field == SimulatedField.sum {
      sums[point.model].bring(
        LogOracle.number(value) ?? 0, from: claims.replica(of: name.tag, in: point.model), into: point.epoch,
        at: point.version)
    }
    // The latest recovery counts: it may be the value over which an earlier replica was recovered.
    if let earlier = record(value, in: field, name, point), earlier.number > 0,
      !claims.isRecovered(field, of: point.model)
    {
      throw Violation(
        .exactlyOnce,
        "\(describe(value)) was written to \(SimulatedField.names[field]) as \(earlier.number) and then recovered")
    }
  }

  /// A proposal takes effect for the first time; or an epoch that is lost had applied it, and no replica that was
  /// recovered had seen that.
  func enterOnce(_ value: FieldValue?, in field: Int, _ name: Name, _ point: Point) throws(Violation) {
    if value == LogOracle.forged {
      guard claims.attackers.contains(name.tag) else {
        throw Violation(
          .noPhantom, "the forged value of an attacker is in \(title(point)) as written by \(name.tag.short)")
      }
      claims.forgeries.insert(.init(model: point.model, field: field))
      return
    }
    if field == SimulatedField.sum, let offerer = sums[point.model].add(name, in: point.epoch, at: point.version) {
      guard let offerer, !claims.hasSeen(name, offerer: offerer) else {
        throw Violation(.exactlyOnce, "proposal \(name.number) of \(name.tag.short) was added to \(title(point)) twice")
      }
    }
    guard let earlier = record(value, in: field, name, point), earlier != name else { return }
    guard earlier.number == 0, !claims.hasSeen(name, offerer: earlier.tag) else {
      throw Violation(
        .exactlyOnce,
        "\(describe(value)) was written to \(SimulatedField.names[field]) as \(earlier.number) and \(name.number)")
    }
  }

  /// Renumbers a model's fields from this batch on. A field that has a value must keep its name.
  func renumber(_ model: Int, _ batch: Batch) throws(Violation) {
    guard case .renumbering(let kept) = batch.form else { return }
    renumberings += 1
    let before = names[model]
    guard kept.allSatisfy({ Int($0) < before.count }) else {
      throw Violation(.trueReplica, "\(modelNames[model]) keeps fields that have no name")
    }
    names[model] = kept.map { before[Int($0)] }
    let present = head(of: model)
    if let lost = before.first(where: { !names[model].contains($0) && present[$0] != nil }) {
      throw Violation(.noPhantom, "\(modelNames[model]) forgets \(SimulatedField.names[lost]), which has a value")
    }
    for field in before where !names[model].contains(field) { beginnings[model][field] = batch.version }
  }
}
