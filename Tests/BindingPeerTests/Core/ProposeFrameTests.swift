import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("Proposals written part by part")
struct ProposeFrameTests {
  private let proposals = [
    NumberedProposal(
      topic: 7, number: 3, confirmed: 2, hops: 1,
      operations: [WireOperation(verb: .set, field: .id(4), value: FieldValue(bytes: Array("0.5".utf8)))]),
    NumberedProposal(
      topic: 8, number: 9, isVoid: true, isEarlier: true, metadata: [MetadataEntry(name: "by", value: "hand")],
      conditions: [WireCondition(epoch: 5, version: 6, field: .name("level"))],
      operations: [
        WireOperation(verb: .clear, field: .id(0), value: nil),
        WireOperation(verb: .add, field: .name("count"), value: FieldValue(bytes: [0x31])),
      ]),
  ]

  @Test("proposals written part by part equal the frame of the whole message")
  func same() {
    var writer = ProposalsWriter(session: 11, start: 12)
    for proposal in proposals {
      writer.begin(
        proposal.topic, proposal.number, confirmed: proposal.confirmed, isVoid: proposal.isVoid,
        isEarlier: proposal.isEarlier, hops: proposal.hops, metadata: proposal.metadata,
        conditions: proposal.conditions.count)
      for condition in proposal.conditions { writer.add(condition) }
      writer.beginOperations(proposal.operations.count)
      for operation in proposal.operations { writer.add(operation.verb, operation.field, operation.value) }
    }
    #expect(writer.count == 2)
    #expect(writer.finish() == PeerMessage.propose(proposals).encode(session: 11, start: 12))
  }
}
