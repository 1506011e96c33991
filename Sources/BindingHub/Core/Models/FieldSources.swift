import BindingProtocol

/// The writer of fields and the epoch of the log in which it wrote, shared by all fields for which both are equal.
final class FieldSource: Sendable {
  let origin: Origin
  let epoch: Epoch

  init(_ origin: Origin, _ epoch: Epoch) {
    (self.origin, self.epoch) = (origin, epoch)
  }

  /// The source of fields that were never written.
  static let nobody = FieldSource(.none, 0)
}

/// The sources of a model's fields, each once. Unused sources are dropped now and then.
struct FieldSources {
  private struct Meaning: Hashable {
    let origin: Origin
    let epoch: Epoch
  }
  private var last = FieldSource.nobody
  private var known: [Meaning: FieldSource] = [:]
  private var limit = 16

  mutating func of(_ origin: Origin, _ epoch: Epoch) -> FieldSource {
    // Most models have one writer, which needs no table.
    if last.epoch == epoch, last.origin == origin { return last }
    let meaning = Meaning(origin: origin, epoch: epoch)
    if last !== FieldSource.nobody {
      known[Meaning(origin: last.origin, epoch: last.epoch)] = last
    }
    last = known[meaning] ?? FieldSource(origin, epoch)
    if known.count > limit { forgetUnused() }
    return last
  }

  private mutating func forgetUnused() {
    var used: [Meaning: FieldSource] = [:]
    for meaning in Array(known.keys) {
      guard var source = known.removeValue(forKey: meaning) else { continue }
      if !isKnownUniquelyReferenced(&source) { used[meaning] = source }
    }
    known = used
    limit = max(16, 2 * used.count)
  }
}
