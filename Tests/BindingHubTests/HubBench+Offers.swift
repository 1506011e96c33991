import BindingHub
import BindingProtocol

/// Replicas of the previous epoch.
extension HubBench {
  @discardableResult
  mutating func joinAhead(_ peer: Speaker, _ version: Version, epoch: Epoch = HubBench.oldEpoch) -> Received {
    join(peer, Join(request: 1, model: "lamp", epoch: epoch, version: version))
  }

  @discardableResult
  mutating func offer(
    _ peer: Speaker, _ version: Version, _ fields: OfferedField..., chunk: UInt32 = 0, isLast: Bool = true,
    epoch: Epoch = HubBench.oldEpoch
  ) -> Received {
    send(
      peer,
      .offer(
        Offer(
          request: 1, topic: HubBench.lamp, epoch: epoch, version: version, chunk: chunk, isLast: isLast,
          fields: fields)))
  }
}

extension OfferedField {
  /// By default written by a peer that is gone.
  static func of(
    _ name: String, _ value: String?, version: Version, number: ProposalNumber = 1,
    origin: Origin = Origin(tag: Tag(rawValue: 0xBEEF), name: "gone")
  ) -> OfferedField {
    OfferedField(name: name, version: version, origin: origin, number: number, time: 5, value: value.map(json))
  }
}
