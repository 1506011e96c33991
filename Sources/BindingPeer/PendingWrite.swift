import BindingModel
public import BindingWire

/// A write on its way to its one outcome.
///
/// The value shows already; this is for those who want to know what became of it:
/// ```swift
/// let version = try await lamp.$level.write(0.8).committed
/// ```
public final class PendingWrite: Sendable {
  private enum Progress {
    case undecided([@Sendable (Outcome) -> Void])
    case decided(Outcome, current: [String: FieldValue], standing: Version?)
  }
  private let progress: Protected<Progress> = Protected(.undecided([]))
  /// The fields that this write concerns, by their names on the wire.
  public var fields: [String] { field.map { [$0] + others } ?? [] }
  /// Most concern one field: that takes no array.
  private let field: String?
  private let others: [String]
  /// Whether it only deletes.
  private let isDeletion: Bool

  init(_ operations: [FieldOperation]) {
    isDeletion = operations.allSatisfy { !$0.verb.takesValue }
    field = operations.first?.field
    others = operations.count > 1 ? operations.dropFirst().map(\.field) : []
  }

  /// What became of the write, if that is known already.
  public var outcomeSoFar: Outcome? {
    progress.withLock {
      if case .decided(let outcome, _, _) = $0 { outcome } else { nil }
    }
  }

  /// Of a write that was refused or lost a comparison: the committed values of its fields when this peer learned of
  /// it. A field without a value is not among them; nothing is before there is an outcome.
  public var current: [String: FieldValue] {
    progress.withLock {
      if case .decided(_, let current, _) = $0 { current } else { [:] }
    }
  }

  /// Waits for the outcome. Without a hub that is as long as it takes; closing the peer ends it.
  public var outcome: Outcome {
    get async {
      await withCheckedContinuation { continuation in whenSettled { continuation.resume(returning: $0) } }
    }
  }

  /// Calls `hear` with the outcome: now if it is known, else when it comes, on the thread that learns it.
  func whenSettled(_ hear: @escaping @Sendable (Outcome) -> Void) {
    let known: Outcome? = progress.withLock {
      switch $0 {
      case .decided(let outcome, _, _): return outcome
      case .undecided(let waiting):
        $0 = .undecided(waiting + [hear])
        return nil
      }
    }
    if let known { hear(known) }
  }

  /// Waits until the write is committed and gives its version; of one that changed nothing, since the field had the
  /// value already, the model's version when this peer learned of it.
  /// - Throws: `WriteRejection` with any other outcome.
  public var committed: Version {
    get async throws(WriteRejection) {
      switch await outcome {
      case .committed(_, let version): return version
      case .kept where !isDeletion && standing != nil: return standing ?? 0
      case let other: throw WriteRejection(outcome: other, fields: fields, current: current)
      }
    }
  }

  /// The model's version when the outcome came.
  private var standing: Version? {
    progress.withLock {
      if case .decided(_, _, let standing) = $0 { standing } else { nil }
    }
  }

  /// Tells the outcome; the first counts.
  func settle(_ outcome: Outcome, current: [String: FieldValue] = [:], standing: Version? = nil) {
    let waiting: [@Sendable (Outcome) -> Void] = progress.withLock {
      guard case .undecided(let waiting) = $0 else { return [] }
      $0 = .decided(outcome, current: current, standing: standing)
      return waiting
    }
    for hear in waiting { hear(outcome) }
  }
}

/// A write that did not become a commit, and why.
public struct WriteRejection: Error, Sendable, Equatable, CustomStringConvertible {
  public let outcome: Outcome
  public let fields: [String]
  /// The committed values of the fields when this peer learned of it; a field without one is not among them.
  public let current: [String: FieldValue]

  public var description: String { outcome.explanation(of: fields.joined(separator: ", ")) }
}

extension Outcome {
  /// The outcome in a sentence about `subject`.
  public func explanation(of subject: String) -> String {
    switch self {
    case .committed(_, let version): "\(subject): committed at \(version)"
    case .kept: "\(subject): nothing to do"
    case .refused(let refusal) where refusal.code == .doesNotFit: "refused: \(PrintedText.escaped(refusal.text))"
    case .refused(let refusal): "\(subject): refused: \(PrintedText.escaped(refusal.text))"
    case .conflict(let conflict):
      "\(conflict.field) changed at \(conflict.version): "
        + (conflict.value.map { "set to \(PrintedText.escaped($0.description, limit: 200))" } ?? "deleted")
        + " by \(conflict.origin.fullName)"
    case .superseded: "\(subject): replaced by a later write of this program"
    case .expired: "\(subject): given up before it was carried out"
    case .unknown(let reason): "\(subject): outcome unknown: \(reason)"
    }
  }
}
