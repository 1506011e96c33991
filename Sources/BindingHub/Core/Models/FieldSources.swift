import BindingProtocol

/// Who wrote fields, in which life of the log: one of these for all fields of which that is the same.
final class FieldSource: Sendable {
  let origin: Origin
  let epoch: Epoch

  init(_ origin: Origin, _ epoch: Epoch) {
    (self.origin, self.epoch) = (origin, epoch)
  }

  /// That of fields that were never written.
  static let nobody = FieldSource(.none, 0)
}

/// The sources of a model's fields, each once. Those that no field has any more go now and then.
struct FieldSources {
  private struct Meaning: Hashable {
    let origin: Origin
    let epoch: Epoch
  }
  private var last = FieldSource.nobody
  private var known: [Meaning: FieldSource] = [:]
  private var limit = 16

  mutating func of(_ origin: Origin, _ epoch: Epoch) -> FieldSource {
    // Most fields of most models have one writer: that needs no table.
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
