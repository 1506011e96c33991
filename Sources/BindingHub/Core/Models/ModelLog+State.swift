import BindingProtocol

/// The state of a model.
extension ModelLog {
  /// Whether it has any commit.
  var hasCommits: Bool { version > beginning.version }

  /// Whether its log has any record.
  var hasRecords: Bool { records > beginning.record }

  /// The model's epoch, where `epoch` is that of the log: an ephemeral model has its own.
  func epoch(ifStored epoch: Epoch) -> Epoch { ephemeral?.epoch ?? epoch }

  /// What the model's followers compare theirs with, where `epoch` is that of the log.
  func head(ifStored epoch: Epoch) -> Head {
    Head(epoch: self.epoch(ifStored: epoch), version: version, digest: fields.digest())
  }

  /// Whether no decision is possible now: a batch is being stored, or the owner is being asked.
  var isBusy: Bool { isAppending || pendingApproval != nil }

  /// Whether a decision has not left as a batch yet.
  var hasPendingBatch: Bool { pendingBatch.isOpen || !pendingBatch.decisions.isEmpty }

  /// Whether every decision is stored and no recovery is under way.
  var isSettled: Bool { recovery == nil && !hasPendingBatch && !isAppending }

  /// The number of fields that were named before the pending batch.
  var storedNames: Int { pendingBatch.isOpen ? pendingBatch.fieldsBefore : fields.count }
}
