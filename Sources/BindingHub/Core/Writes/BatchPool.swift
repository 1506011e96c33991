import BindingProtocol

/// Batches that no model needs now: a pending batch has lists with room for many commits, and of many models few are
/// written at the same moment. Those few then share memory that the processor has at hand.
final class BatchPool {
  /// The pending batch of a model of which nothing is decided: always empty.
  let none = ModelLog.PendingBatch()

  private var batches: [ModelLog.PendingBatch] = []
  /// How many are kept; of those that have grown beyond `bigBytes` only a few.
  private static let most = 1_024
  private static let bigBytes = 16_384
  private static let mostBig = 8
  private var bigs = 0

  func borrow() -> ModelLog.PendingBatch {
    guard let pendingBatch = batches.popLast() else { return ModelLog.PendingBatch() }
    if pendingBatch.commits.byteCount > BatchPool.bigBytes { bigs -= 1 }
    return pendingBatch
  }

  /// Empties a pending batch and takes it back.
  func giveBack(_ pendingBatch: ModelLog.PendingBatch) {
    pendingBatch.clear()
    let isBig = pendingBatch.commits.byteCount > BatchPool.bigBytes
    guard batches.count < BatchPool.most, !isBig || bigs < BatchPool.mostBig else { return }
    batches.append(pendingBatch)
    if isBig { bigs += 1 }
  }
}
