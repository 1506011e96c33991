import BindingProtocol

/// What somebody asks of a hub who wants to know of a model that it may not read: `secret/plan`, which is never named
/// here in full, because answers repeat the names that they refuse.
struct NosyQuestions {
  /// The number by which frames name their session, and the hub's start.
  var session: SessionID
  var start: StartNumber
  /// The topic of the model, which nobody should know; and the owner's session.
  var topic: Topic
  var owner: SessionID

  /// Frames of every kind, of this session and of the owner's.
  var frames: [[UInt8]] {
    var messages: [PeerMessage] = [
      .status, .verify(Verify(timeoutMilliseconds: 50)), .verify(Verify(timeoutMilliseconds: 50, names: ["secret/"])),
      .join([Join(request: 1, prefix: ""), Join(request: 2, prefix: "secret/"), Join(request: 3, model: "secret")]),
      .join([Join(request: 4, model: Names.ephemeral("secret/other"))]), .askHeads,
    ]
    for topic in [topic, topic + 1] {
      messages += [
        .propose([NumberedProposal(topic: topic, number: 1, operations: [NosyQuestions.operation])]),
        .offer(NosyQuestions.offer(topic)), .approval(Approval(topic: topic, token: 1, isAccepted: true)),
        .awaitApplied(AwaitApplied(request: 5, topic: topic, epoch: 1, version: 1, timeoutMilliseconds: 10)),
        .report([AppliedEntry(topic: topic, epoch: 1, version: 1, digest: 1, healed: 0)]),
        .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: topic, confirmed: 1, applied: 1)])),
        .leave(Leave(topics: [topic])),
      ]
    }
    return [owner, session].flatMap { number in messages.map { $0.encode(session: number, start: start) } }
  }

  /// Joins of models whose names are guessed, and frames that name guessed topics.
  static func guesses(_ count: Int) -> [PeerMessage] {
    // Without `p`: an answer repeats the name that it refuses, which may not begin with `plan` by chance.
    let letters = Array("abcdefghijklmnoqrstuvwxyz")
    return (0..<count).map { number in
      let topic = Topic.random(in: Topics.firstModel ... .max)
      switch number % 4 {
      case 0:
        let name = String((0..<6).compactMap { _ in letters.randomElement() })
        return .join([Join(request: UInt32(number), model: number % 8 == 0 ? name : "secret/\(name)")])
      case 1:
        return .awaitApplied(
          AwaitApplied(request: UInt32(number), topic: topic, epoch: 1, version: 1, timeoutMilliseconds: 10))
      case 2: return .propose([NumberedProposal(topic: topic, number: 1, operations: [operation])])
      default: return .report([AppliedEntry(topic: topic, epoch: 1, version: 1, digest: 1, healed: 0)])
      }
    }
  }

  private static let operation = WireOperation(
    verb: .set, field: .name("guess"), value: FieldValue(bytes: Array("1".utf8)))

  static func offer(_ topic: Topic) -> Offer {
    let field = OfferedField(
      name: "guess", version: 9, origin: Origin(tag: Tag(rawValue: 7), name: "ben"), number: 9, time: 1,
      value: FieldValue(bytes: Array("1".utf8)))
    return Offer(
      request: 1, topic: topic, epoch: 1, version: .max >> 1, chunk: 0, isLast: true, fields: [field],
      numbers: [SeenNumber(tag: Tag(rawValue: 7), number: 9)])
  }
}
