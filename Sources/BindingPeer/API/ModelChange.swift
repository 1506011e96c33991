public import BindingModel
public import BindingProtocol

/// What one call of a model's observer reports: the changed fields, the version, and the number of coalesced commits.
public struct ModelChange: Sendable, Equatable {
  /// The epoch of the version.
  public internal(set) var epoch: Epoch
  /// The version that the model is at now.
  public internal(set) var version: Version
  /// The fields that show another value than at the last change; nil: no value any more. Names that begin with `@`
  /// are reserved by the protocol.
  public internal(set) var fields: [String: FieldValue?]
  /// The number of commits since the last change that are in this one without having been shown: 0 if all were.
  ///
  /// Commits are counted by their versions. Across epochs they cannot be: a new state there counts as one.
  public internal(set) var coalesced = 0
  /// Whether this is the state with which the observation began, once it was known here.
  public internal(set) var isBeginning: Bool
  /// The `hops` of a proposal written in answer (R17).
  var hops: UInt8

  /// The value that a field shows now, if it is one of those that changed and has a value.
  public subscript(field: String) -> FieldValue? { fields[field] ?? nil }
}

extension ModelChange {
  init(_ step: UpdateStep) {
    var fields: [String: FieldValue?] = [:]
    for change in step.changes { fields.updateValue(change.value, forKey: change.field) }
    self.init(
      epoch: step.epoch, version: step.version, fields: fields, isBeginning: step.isBeginning, hops: step.hops)
  }

  /// Merges a later change into this one.
  mutating func absorb(_ newer: ModelChange) {
    (epoch, version) = (newer.epoch, newer.version)
    hops = max(hops, newer.hops)
    for (field, value) in newer.fields { fields.updateValue(value, forKey: field) }
  }

  /// The change with the number of commits that it stands for.
  func counting(_ commits: Int) -> ModelChange {
    var change = self
    change.coalesced = max(commits - 1, 0)
    return change
  }

  /// What is new since `notified`, without numbers that have moved by less than `deadband`; nil if nothing is.
  func remainder(after notified: ModelChange, deadband: Double) -> ModelChange? {
    var rest = self
    for (field, value) in fields {
      guard let old = notified[field]?.jsonIfValid?.double, let new = value?.jsonIfValid?.double,
        abs(new - old) < deadband
      else { continue }
      rest.fields.removeValue(forKey: field)
    }
    return rest.fields.isEmpty && !isBeginning ? nil : rest
  }
}

extension Pace<ModelChange> {
  /// All changes coalesced into one, at most once per `interval`: the first after a pause immediately, later ones
  /// when the interval has passed. The last state always arrives.
  /// - Parameter interval: zero (no limit: one change per turn of the lane) or more; less counts as zero.
  public static func latest(every interval: Duration) -> Pace {
    Pace(every: interval, coalesce: { $0.absorb($1) })
  }

  /// All changes coalesced into one, at most once per `interval`, without numbers that differ by less than `deadband`
  /// from the value last delivered for their field; if nothing else has changed there is no call. So a field's last
  /// value does not arrive if it comes to rest within the deadband.
  /// - Parameters:
  ///   - interval: zero or more; less counts as zero.
  ///   - deadband: in the unit of the fields; zero or less: every change is delivered.
  public static func latest(every interval: Duration, deadband: Double) -> Pace {
    Pace(
      every: interval, coalesce: { $0.absorb($1) },
      remainder: { notified, new in new.remainder(after: notified, deadband: deadband) })
  }

  /// Each state that this peer passes through: one call per commit or own write. Up to `limit` states (at least 1)
  /// wait while the observer is busy; beyond that the oldest are coalesced into the one after them. Commits that the
  /// hub coalesces for a catch-up arrive coalesced.
  public static func everyChange(limit: Int = 1_000) -> Pace {
    Pace(every: .zero, limit: limit, coalesce: { $0.absorb($1) })
  }
}
