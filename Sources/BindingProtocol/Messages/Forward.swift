/// Proposals of one writer for one model, which a hub passes on to the model's home among the hubs of the same log
/// (§17.3).
package struct Forward: WireContent, Hashable {
  /// What precedes the proposals.
  package var head: ForwardHead
  /// The proposals, in order. Their topics mean nothing, and their fields have names.
  package var proposals: [NumberedProposal]

  package init(_ head: ForwardHead, _ proposals: [NumberedProposal]) { (self.head, self.proposals) = (head, proposals) }

  package init(from reader: inout WireReader) throws(WireError) {
    head = try ForwardHead(from: &reader)
    proposals = try reader.elements(try reader.count16("proposals", minimum: NumberedProposal.minimumBytes))
  }

  package func write(to writer: inout WireWriter) {
    head.write(to: &writer)
    writer.count16(proposals.count)
    writer.elements(proposals)
  }
}

/// Whose proposals are passed on, and for which model.
package struct ForwardHead: WireContent, Hashable {
  /// The model's id.
  package var model: String
  /// The last record of the model that the sender had.
  package var record: UInt64
  /// The writer, with the secret that its hello has shown to the sender.
  package var identity: Identity
  /// Under whose name the sender has let the writer in; nil: it has no keys.
  package var user: String?

  package init(model: String, record: UInt64, identity: Identity, user: String?) {
    self.model = model
    self.record = record
    self.identity = identity
    self.user = user
  }

  package init(from reader: inout WireReader) throws(WireError) {
    model = try reader.modelID("model")
    record = try reader.u64("record")
    identity = try reader.identity()
    let user = try reader.text8("user")
    self.user = user.isEmpty ? nil : user
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(model)
    writer.u64(record)
    writer.identity(identity)
    writer.text8(user ?? "")
  }
}
