import BindingProtocol

/// Finds changes that the tail of a shared store did not deliver.
///
/// A gap in the middle of a model shows by its next record; nothing shows the last record of a model if its event was
/// lost. So the heads that changed are read regularly and compared with what the tail delivered. A head that the tail
/// has not delivered may only be late: it is named if the tail has not delivered it by the next reading either.
package struct TailCheck {
  /// The revision up to which all heads have been compared.
  package private(set) var position: SharedRevision
  private var delivered: [String: SharedRevision] = [:]
  private var late: [String: SharedHead] = [:]

  /// A check of a tail that begins at this position.
  package init(position: SharedRevision) { self.position = position }

  /// What a reading of heads has shown.
  package struct Finding {
    /// Heads of which the tail did not deliver the last change.
    package var missed: [SharedHead] = []
    /// Whether the tail has delivered all that it had to up to the reading.
    package var isComplete = true
  }

  /// Takes note of records that the tail has delivered.
  package mutating func note(_ records: [SharedRecord]) {
    for record in records where record.revision > delivered[record.batch.model] ?? 0 {
      delivered[record.batch.model] = record.revision
    }
  }

  /// What the hub was not told yet, of these heads that changed after `position` and of those before.
  /// - Parameter waiting: those of records that the tail has delivered, and that wait for the answer to an append.
  package func untold(_ heads: [SharedHead], waiting: [SharedHead]) -> [SharedHead] {
    (lateInOrder + heads).filter { !isDelivered($0) } + waiting
  }

  /// Compares the heads that changed after `position`, as they were at `revision`.
  package mutating func compare(_ heads: [SharedHead], asOf revision: SharedRevision) -> Finding {
    var finding = Finding()
    finding.missed = lateInOrder.filter { !isDelivered($0) }
    late.removeAll()
    for head in heads where !isDelivered(head) {
      finding.isComplete = false
      late[head.model] = head
    }
    finding.isComplete = finding.isComplete && finding.missed.isEmpty
    position = max(position, revision)
    let position = position
    delivered = delivered.filter { $0.value > position || late[$0.key] != nil }
    return finding
  }

  /// Begins anew at a position up to which everything has been named or delivered.
  package mutating func restart(at position: SharedRevision) { self = TailCheck(position: position) }

  private var lateInOrder: [SharedHead] {
    late.values.sorted { ($0.revision, $0.model) < ($1.revision, $1.model) }
  }

  private func isDelivered(_ head: SharedHead) -> Bool { delivered[head.model] ?? 0 >= head.revision }
}
