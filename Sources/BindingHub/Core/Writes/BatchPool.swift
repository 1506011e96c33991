import BindingProtocol

/// Unused pending batches. A batch has lists with room for many commits, and few of many models are written at the
/// same moment: those few share memory that is still in the processor's cache.
final class BatchPool {
  /// The pending batch of a model without decisions; always empty.
  let none = PendingBatch()

  private var batches: [PendingBatch] = []
  /// The most batches kept; of those grown beyond `bigBytes` only `mostBig`.
  private static let most = 1_024
  private static let bigBytes = 16_384
  private static let mostBig = 8
  private var bigs = 0

  func borrow() -> PendingBatch {
    guard let pendingBatch = batches.popLast() else { return PendingBatch() }
    if pendingBatch.commits.byteCount > BatchPool.bigBytes { bigs -= 1 }
    return pendingBatch
  }

  /// Empties a pending batch and keeps it for reuse.
  func giveBack(_ pendingBatch: PendingBatch) {
    pendingBatch.clear()
    let isBig = pendingBatch.commits.byteCount > BatchPool.bigBytes
    guard batches.count < BatchPool.most, !isBig || bigs < BatchPool.mostBig else { return }
    batches.append(pendingBatch)
    if isBig { bigs += 1 }
  }
}
