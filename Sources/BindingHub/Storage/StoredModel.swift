/// A model as it is stored: its compacted older batches, and the batches since.
package struct StoredModel: Sendable, Hashable {
  /// The model's id.
  package var model: String
  /// The chunks that `ModelCompactor` made of the older batches, in order; empty: none were compacted.
  package var chunks: [[UInt8]]
  /// The batches after them, by rising record. A batch that the chunks contain is skipped.
  package var batches: [Batch]

  /// A model of these chunks and batches.
  package init(model: String, chunks: [[UInt8]] = [], batches: [Batch]) {
    self.model = model
    self.chunks = chunks
    self.batches = batches
  }
}
