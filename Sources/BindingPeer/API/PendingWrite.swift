import BindingModel
public import BindingProtocol

/// A write on its way to its one outcome.
///
/// The value already shows; this object is for programs that need the outcome:
/// ```swift
/// let version = try await lamp.$level.write(0.8).committed
/// ```
public final class PendingWrite: Sendable {
  /// The callers that wait for the outcome. Most writes have none.
  private struct Waiting: Sendable {
    var receivers: [UInt64: @Sendable (Outcome) -> Void] = [:]
    var last: UInt64 = 0
    /// Created when a tracked read finds no outcome.
    var tracker: Observable<Bool>?
  }
  private enum Progress: Sendable {
    case unacknowledged(Waiting?)
    case decided(Outcome, current: [String: FieldValue], modelVersion: Version?)
  }
  private let progress: Protected<Progress> = Protected(.unacknowledged(nil))
  /// The fields that this write concerns, by their names on the wire.
  public var fields: [String] { field.map { [$0] + others } ?? [] }
  /// Most writes concern one field, which takes no array.
  private let field: String?
  private let others: [String]
  /// Whether the write only deletes.
  private let isDeletion: Bool
  /// Whether it yields to what others wrote, so that no status reports that it was not applied.
  let isWeak: Bool

  init(_ operations: [FieldOperation], isWeak: Bool = false) {
    self.isWeak = isWeak
    isDeletion = operations.allSatisfy { !$0.verb.takesValue }
    field = operations.first?.field
    others = operations.count > 1 ? operations.dropFirst().map(\.field) : []
  }

  /// The outcome, if it is known. Reads inside `withObservationTracking`, `Observations` or a SwiftUI view are
  /// tracked; inside a `Derived` it is a source. The same holds for `current`. Trackers are notified on the thread
  /// that receives the outcome.
  public var outcomeSoFar: Outcome? {
    track()
    return known
  }

  private var known: Outcome? {
    progress.withLock {
      if case .decided(let outcome, _, _) = $0 { outcome } else { nil }
    }
  }

  /// For a write that was refused or lost a comparison: the committed values of its fields when this peer received
  /// the outcome. A field without a value is absent; all are before there is an outcome.
  public var current: [String: FieldValue] {
    track()
    return progress.withLock {
      if case .decided(_, let current, _) = $0 { current } else { [:] }
    }
  }

  private func track() {
    guard ReadTracking.current != .nobody else { return }
    let fresh = Observable(false, filter: .everyWrite)
    let tracker: Observable<Bool>? = progress.withLock { progress in
      guard case .unacknowledged(var waiting) = progress else { return nil }
      waiting = waiting ?? Waiting()
      let tracker = waiting?.tracker ?? fresh
      waiting?.tracker = tracker
      progress = .unacknowledged(waiting)
      return tracker
    }
    _ = tracker?.value
  }

  /// Waits for the outcome. Without a hub there is no time limit; closing the peer ends the wait.
  ///
  /// A cancelled task gets `Outcome.waitCancelled`, unless the outcome is known. Only the wait ends: the write still
  /// shows, is sent and decided, and can be waited for again.
  public var outcome: Outcome { get async { await settled(timeout: nil) ?? .waitCancelled } }

  /// Waits for the outcome. Returns nil when `timeout` passes first, or the task is cancelled; the write goes on.
  public func outcome(timeout: Duration) async -> Outcome? { await settled(timeout: timeout) }

  private func settled(timeout: Duration?) async -> Outcome? {
    if let known { return known }
    let wait = Wait<Outcome?>()
    let number = whenSettled { wait.end($0) }
    let outcome = await wait.value(timeout: timeout, otherwise: nil)
    if outcome == nil, let number { removeReceiver(number) }
    return outcome
  }

  /// Calls `receive` with the outcome: now if it is known, else on the thread that receives it.
  /// - Returns: the number of the receiver, to remove it; nil if the outcome is known.
  private func whenSettled(_ receive: @escaping @Sendable (Outcome) -> Void) -> UInt64? {
    let (number, known): (UInt64?, Outcome?) = progress.withLock {
      switch $0 {
      case .decided(let outcome, _, _): return (nil, outcome)
      case .unacknowledged(let present):
        $0 = .unacknowledged(nil)
        var waiting = present ?? Waiting()
        waiting.last += 1
        waiting.receivers[waiting.last] = receive
        $0 = .unacknowledged(waiting)
        return (waiting.last, nil)
      }
    }
    if let known { receive(known) }
    return number
  }

  /// Calls `receive` with the reason, on a lane, if the write is not applied, unless its one field has the written
  /// value anyway.
  func whenRefused(on lane: Lane, writing value: FieldValue?, _ receive: @escaping @Sendable (String) -> Void) {
    _ = whenSettled { [weak self] outcome in
      guard let reason = outcome.complaint else { return }
      let current = self.flatMap { write in write.field.flatMap { write.current[$0] } }
      if current == nil || current != value { lane.run { receive(reason) } }
    }
  }

  /// A write that changed nothing, since the list was as it was to be.
  static func unchanged(_ field: String, _ modelVersion: Version) -> PendingWrite {
    let write = PendingWrite([FieldOperation(.replace, field)])
    write.settle(.unchanged, modelVersion: modelVersion)
    return write
  }

  private func removeReceiver(_ number: UInt64) {
    progress.withLock {
      guard case .unacknowledged(var waiting?) = $0 else { return }
      $0 = .unacknowledged(nil)
      waiting.receivers[number] = nil
      $0 = .unacknowledged(waiting.receivers.isEmpty && waiting.tracker == nil ? nil : waiting)
    }
  }

  /// The number of callers that wait for the outcome.
  var waits: Int {
    progress.withLock {
      if case .unacknowledged(let waiting?) = $0 { waiting.receivers.count } else { 0 }
    }
  }

  /// Waits until the write is committed and returns its version; for a write that changed nothing, since the field
  /// had the value already, the model's version when this peer received the outcome.
  /// - Throws: `RejectionError` for any other outcome; its `isWaitCancelled` is true if the task was cancelled.
  public var committed: Version {
    get async throws(RejectionError) {
      switch await outcome {
      case .committed(_, let version): return version
      case .unchanged where !isDeletion && modelVersion != nil: return modelVersion ?? 0
      case let other: throw RejectionError(outcome: other, fields: fields, current: current)
      }
    }
  }

  /// The model's version when the outcome arrived.
  private var modelVersion: Version? {
    progress.withLock {
      if case .decided(_, _, let modelVersion) = $0 { modelVersion } else { nil }
    }
  }

  /// Records the outcome and passes it on; only the first call counts.
  func settle(_ outcome: Outcome, current: [String: FieldValue] = [:], modelVersion: Version? = nil) {
    let waiting: Waiting? = progress.withLock {
      guard case .unacknowledged(let waiting) = $0 else { return nil }
      $0 = .decided(outcome, current: current, modelVersion: modelVersion)
      return waiting
    }
    guard let waiting else { return }
    for (_, receive) in waiting.receivers.sorted(by: { $0.key < $1.key }) { receive(outcome) }
    waiting.tracker?.value = true
  }
}

/// A write that did not become a commit, and the reason.
public struct RejectionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The outcome of the write.
  public let outcome: Outcome
  /// The fields that the write concerns, by their names on the wire.
  public let fields: [String]
  /// The committed values of the fields when this peer received the outcome; a field without a value is absent.
  public let current: [String: FieldValue]

  /// Whether only the wait has ended, because its task was cancelled: the result of the write is not known here.
  public var isWaitCancelled: Bool { outcome == .waitCancelled }

  public var description: String { outcome.explanation(of: fields.joined(separator: ", ")) }
}

extension Outcome {
  /// What a cancelled task gets instead of an outcome. The write goes on and has an outcome of its own.
  public static let waitCancelled = Outcome.unknown("the wait was cancelled; the write continues")

  /// A sentence about `subject` that explains the outcome.
  public func explanation(of subject: String) -> String {
    switch self {
    case .committed(_, let version): "\(subject): committed at version \(version)"
    case .unchanged: "\(subject): unchanged"
    case .refused(let refusal) where refusal.code == .doesNotFit: "refused: \(PrintedText.escaped(refusal.text))"
    case .refused(let refusal): "\(subject): refused: \(PrintedText.escaped(refusal.text))"
    case .conflict(let conflict):
      "\(FieldTitle.of(conflict.field)) changed at version \(conflict.version): "
        + (FieldTitle.value(conflict.value, of: conflict.field).map {
          "set to \(PrintedText.escaped($0.description, limit: 200))"
        } ?? "deleted")
        + " by \(conflict.origin.attribution)"
    case .superseded: "\(subject): superseded by a later write of this program"
    case .expired: "\(subject): expired before the hub decided it"
    case .unknown(let reason): "\(subject): outcome unknown: \(reason)"
    }
  }
}
