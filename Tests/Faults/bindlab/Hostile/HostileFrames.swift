import BindingKeys
import BindingProtocol
import Simulation

/// Frames that a hub must refuse, or answer without harm to others.
enum HostileFrames {
  struct Kind: Sendable {
    let name: String
    /// Whether they are sent by a session that the hub has welcomed.
    let isWelcomed: Bool
    /// Frames after which another connection is made.
    var perConnection = 1_000
    let frame: @Sendable (inout Chance, HostileSpeaker) -> [UInt8]
  }

  static let kinds: [Kind] = [
    Kind(name: "malformed frames", isWelcomed: true) { chance, speaker in
      var frame = speaker.encode(valid(&chance))
      for _ in 0...chance.below(3) { frame[chance.below(frame.count)] = UInt8(truncatingIfNeeded: chance.next()) }
      return frame
    },
    Kind(name: "half frames", isWelcomed: true) { chance, speaker in
      let frame = speaker.encode(valid(&chance))
      return Array(frame.prefix(chance.below(frame.count)))
    },
    Kind(name: "noise", isWelcomed: false, perConnection: 200) { chance, _ in
      (0..<chance.below(200)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    },
    Kind(name: "large frames", isWelcomed: true) { chance, speaker in
      speaker.encode(valid(&chance)) + [UInt8](repeating: 0xFF, count: chance.below(60_000))
    },
    Kind(name: "forged session numbers", isWelcomed: true) { chance, speaker in
      valid(&chance).encode(session: chance.next() | 1, start: speaker.start)
    },
    Kind(name: "forged start numbers", isWelcomed: true) { chance, speaker in
      valid(&chance).encode(session: speaker.session, start: UInt32(truncatingIfNeeded: chance.next()) | 1)
    },
    Kind(name: "stolen tags with a wrong secret", isWelcomed: false) { chance, speaker in
      let identity = Identity(
        tag: Tag(rawValue: chance.next() | 1), secret: Secret(high: chance.next(), low: chance.next()), name: "p1")
      return PeerMessage.hello(Hello(identity: identity, capabilities: Capability.all)).encode(
        session: chance.next() | 1, start: 0)
    },
    Kind(name: "replayed hellos", isWelcomed: true) { _, speaker in
      PeerMessage.hello(Hello(identity: speaker.identity, capabilities: Capability.all)).encode(
        session: speaker.session, start: 0)
    },
    Kind(name: "hellos of new identities", isWelcomed: false, perConnection: 64) { chance, _ in
      let identity = Identity(secret: Secret(high: chance.next(), low: chance.next()), name: "mallory")
      return PeerMessage.hello(Hello(identity: identity, capabilities: Capability.all)).encode(
        session: chance.next() | 1, start: 0)
    },
    Kind(name: "forged offers", isWelcomed: true) { chance, speaker in
      speaker.encode(.offer(offer(&chance)))
    },
    Kind(name: "forged claims in joins", isWelcomed: true) { chance, speaker in
      speaker.encode(
        .join([
          Join(request: 1, model: model(&chance), epoch: chance.next() | 1 << 60, version: chance.next() >> 1)
        ]))
    },
    Kind(name: "joins of models", isWelcomed: true) { chance, speaker in
      speaker.encode(.join((0..<8).map { Join(request: $0 + 1, model: "spam/\(chance.below(20_000))") }))
    },
    Kind(name: "joins of prefixes", isWelcomed: true) { chance, speaker in
      speaker.encode(.join((0..<8).map { Join(request: $0 + 1, prefix: ["", "lab/", "spam/"][chance.below(3)]) }))
    },
    Kind(name: "writes without the right", isWelcomed: true) { chance, speaker in
      speaker.encode(.propose([proposal(&chance)]))
    },
    Kind(name: "questions without the right", isWelcomed: true) { chance, speaker in
      speaker.encode(
        chance.below(2) == 0 ? .status : .verify(Verify(timeoutMilliseconds: 60_000, names: ["lab/", "spam/"])))
    },
    Kind(name: "barriers, reports and approvals", isWelcomed: true) { chance, speaker in
      speaker.encode(waiting(&chance))
    },
    Kind(name: "enrolments without an invitation", isWelcomed: false) { chance, _ in
      [0x0F] + [UInt8](repeating: 0, count: 12) + (0..<32).map { _ in UInt8(truncatingIfNeeded: chance.next()) } + [0]
    },
  ]

  private static func model(_ chance: inout Chance) -> String { ["lab/a", "lab/b", "spam/1"][chance.below(3)] }

  private static func topic(_ chance: inout Chance) -> Topic { Topics.firstModel + Topic(chance.below(64)) }

  private static func proposal(_ chance: inout Chance) -> NumberedProposal {
    NumberedProposal(
      topic: topic(&chance), number: UInt32(truncatingIfNeeded: chance.next()) | 1,
      operations: [
        WireOperation(verb: .set, field: .name("count"), value: FieldValue(bytes: Array("\"taken\"".utf8)))
      ])
  }

  private static func offer(_ chance: inout Chance) -> Offer {
    let origin = Origin(tag: Tag(rawValue: chance.next() | 1), name: "p1")
    let field = OfferedField(
      name: "count", version: chance.next() >> 1, origin: origin, number: 9, time: 1,
      value: FieldValue(bytes: Array("\"taken\"".utf8)))
    return Offer(
      request: UInt32(chance.below(9)), topic: topic(&chance), epoch: chance.next(), version: chance.next() >> 1,
      chunk: 0, isLast: true, fields: [field])
  }

  private static func waiting(_ chance: inout Chance) -> PeerMessage {
    switch chance.below(3) {
    case 0:
      .awaitApplied(
        AwaitApplied(
          request: UInt32(chance.below(1_000)), topic: topic(&chance), epoch: chance.next(),
          version: chance.next() >> 1,
          timeoutMilliseconds: 3_600_000))
    case 1:
      .report([
        AppliedEntry(topic: topic(&chance), epoch: chance.next(), version: 1, digest: chance.next(), healed: 0)
      ])
    default: .approval(Approval(topic: topic(&chance), token: UInt32(chance.below(99)), isAccepted: true))
    }
  }

  /// A valid message of any kind.
  private static func valid(_ chance: inout Chance) -> PeerMessage {
    switch chance.below(10) {
    case 0: .join([Join(request: 1, model: model(&chance)), Join(request: 2, prefix: "lab/")])
    case 1: .propose([proposal(&chance)])
    case 2:
      .alive(
        Alive(heartbeat: chance.next() >> 1, entries: [AliveEntry(topic: topic(&chance), confirmed: 1, applied: 1)]))
    case 3: .leave(.init(topics: [topic(&chance)]))
    case 4: .askHeads
    case 5: .ping(Ping(token: chance.next()))
    case 6: .offer(offer(&chance))
    case 7: .verify(Verify(timeoutMilliseconds: 100))
    case 8: .hello(Hello(identity: Identity(secret: Secret(high: chance.next(), low: 1), name: "mallory")))
    default: waiting(&chance)
    }
  }
}
