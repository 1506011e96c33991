/// A model as it is stored: what its older batches were folded into, and the batches since.
public struct StoredModel: Sendable {
  public var model: String
  /// What `ModelCompactor` made of the older batches, in order; empty: nothing was folded yet.
  public var chunks: [[UInt8]]
  /// Those after them, by rising record. One that the chunks hold already is passed over.
  public var batches: [Batch]

  public init(model: String, chunks: [[UInt8]] = [], batches: [Batch]) {
    self.model = model
    self.chunks = chunks
    self.batches = batches
  }
}
