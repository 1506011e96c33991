import BindingProtocol

/// How a model stands.
extension ModelLog {
  /// Whether anything was committed in it.
  var hasCommits: Bool { version > beginning.version }

  /// Whether its log has any record.
  var hasRecords: Bool { records > beginning.record }

  /// The life that this line is in, where the log is in `epoch`.
  func epoch(ifStored epoch: Epoch) -> Epoch { ephemeral?.epoch ?? epoch }

  /// Whether nothing can be decided now: a batch is being stored, or the owner is being asked.
  var isBusy: Bool { isAppending || pendingApproval != nil }

  /// Whether something was decided that has not left as a batch yet.
  var hasPendingBatch: Bool { pendingBatch.isOpen || !pendingBatch.decisions.isEmpty }

  /// Whether all that was decided is stored, and nothing of an older life may still come.
  var isSettled: Bool { recovery == nil && !hasPendingBatch && !isAppending }

  /// How many fields are not only named by the pending batch.
  var storedNames: Int { pendingBatch.isOpen ? pendingBatch.fieldsBefore : fields.count }
}
