public import BindingModel
public import BindingProtocol

/// What one call to an observer of a model stands for: which fields show something else, since which version of how
/// many commits.
public struct ModelChange: Sendable, Equatable {
  /// The epoch and version that the model is at now.
  public internal(set) var epoch: Epoch
  public internal(set) var version: Version
  /// The fields that show another value than the change before said; nil: they have none any more. Fields whose names
  /// begin with `@` are the protocol's own.
  public internal(set) var fields: [String: FieldValue?]
  /// How many commits since the change before are in this one without having been shown: 0 when every one was.
  ///
  /// Commits are counted by their versions. Those of an epoch that is over cannot be: there a new state counts as one.
  public internal(set) var coalesced = 0
  /// Whether this is what was there when the observing began, as soon as it was known here.
  public internal(set) var isBeginning: Bool
  /// The `hops` of what is written in answer (R17).
  var hops: UInt8

  /// What a field shows now, if it is one of those that changed and has a value.
  public subscript(field: String) -> FieldValue? { fields[field] ?? nil }
}

extension ModelChange {
  init(_ step: UpdateStep) {
    var fields: [String: FieldValue?] = [:]
    for change in step.changes { fields.updateValue(change.value, forKey: change.field) }
    self.init(
      epoch: step.epoch, version: step.version, fields: fields, isBeginning: step.isBeginning, hops: step.hops)
  }

  /// Takes a later change in.
  mutating func absorb(_ newer: ModelChange) {
    (epoch, version) = (newer.epoch, newer.version)
    hops = max(hops, newer.hops)
    for (field, value) in newer.fields { fields.updateValue(value, forKey: field) }
  }

  /// The change with a word on what it stands for.
  func counting(_ commits: Int) -> ModelChange {
    var change = self
    change.coalesced = max(commits - 1, 0)
    return change
  }

  /// What is left for who was told `notified`: nothing of numbers that have moved by less than `deadband`.
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
  /// All that has changed, folded into one change, at most once in `interval`: the first after a pause at once, later
  /// ones when the time has passed. The last state always arrives.
  /// - Parameter interval: from zero (no limit: one change a turn of the lane) up; less counts as zero.
  public static func latest(every interval: Duration) -> Pace {
    Pace(every: interval, coalesce: { $0.absorb($1) })
  }

  /// As above, without the numbers that differ by less than `deadband` from what was told of their field before; where
  /// nothing else has changed there is no call. So a field's last value does not arrive where it comes to rest there.
  /// - Parameters:
  ///   - interval: from zero up; less counts as zero.
  ///   - deadband: in the unit of the fields; zero or less: every change is told.
  public static func latest(every interval: Duration, deadband: Double) -> Pace {
    Pace(
      every: interval, coalesce: { $0.absorb($1) },
      remainder: { notified, new in new.remainder(after: notified, deadband: deadband) })
  }

  /// Each state that this peer passes through, one call a commit or write of its own. Up to `limit` of them (at least
  /// 1) wait while the observer is busy; past that the oldest are folded into the one after them. What the hub folds
  /// to let a peer catch up comes folded.
  public static func everyChange(limit: Int = 1_000) -> Pace {
    Pace(every: .zero, limit: limit, coalesce: { $0.absorb($1) })
  }
}
