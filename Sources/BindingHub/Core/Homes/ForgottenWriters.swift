import BindingProtocol

/// Which writers the records of a model have let every hub forget. What another hub has passed on before it saw such a
/// record may have been decided already: only its writer's last number would tell.
struct ForgottenWriters {
  private var records: [Tag: UInt64] = [:]
  /// Up to this record any writer may have been forgotten.
  private var floor: UInt64 = 0

  /// The most writers that are told apart.
  private static let most = 1_024

  mutating func add(_ decisions: [Decision], in record: UInt64) {
    for decision in decisions where decision.form == .forgotten {
      if records.count >= ForgottenWriters.most { forgetAll(to: record) }
      records[decision.origin.tag] = record
    }
  }

  /// Records up to this one were not seen.
  mutating func forgetAll(to record: UInt64) {
    records.removeAll()
    floor = max(floor, record)
  }

  /// Whether a writer may have been forgotten in a record after this one.
  func mayHaveForgotten(_ tag: Tag, after record: UInt64) -> Bool {
    floor > record || records[tag].map { $0 > record } == true
  }
}

extension ModelLog {
  /// Records up to this one were removed from the log before this hub saw them. In them writers may have been
  /// forgotten, and the model may have been removed and made again: then it is announced again.
  func missRecords(to record: UInt64) {
    batch.shared.forgotten.forgetAll(to: record)
    members.hasFirstCommit = false
  }
}
