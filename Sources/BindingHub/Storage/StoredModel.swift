/// A model as it is stored: its compacted older batches, and the batches since.
public struct StoredModel: Sendable {
  /// The model's id.
  public var model: String
  /// The chunks that `ModelCompactor` made of the older batches, in order; empty: none were compacted.
  public var chunks: [[UInt8]]
  /// The batches after them, by rising record. A batch that the chunks contain is skipped.
  public var batches: [Batch]

  /// A model of these chunks and batches.
  public init(model: String, chunks: [[UInt8]] = [], batches: [Batch]) {
    self.model = model
    self.chunks = chunks
    self.batches = batches
  }
}
