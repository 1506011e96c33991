import BindingHub
import BindingPeer
import BindingProtocol

/// What hubs of one log tell each other beside the parts of ephemeral models.
extension Uplink {
  /// Passes proposals on to the home of a model. Nothing is answered: the log shows what becomes of them.
  mutating func forward(_ forwarded: ForwardedProposals) {
    guard isOpen, let start = welcomeStart else { return }
    for part in Uplink.parts(of: forwarded.proposals) {
      var writer = WireWriter()
      PeerHeader(kind: .forward, session: session.number, start: start).write(to: &writer)
      forwarded.head.write(to: &writer)
      writer.proposals(part, topic: Topics.firstModel)
      counters.forwarded += UInt64(part.count)
      actions.append(.send(writer.bytes))
    }
  }

  /// Tells a sibling how many peers here have applied a version.
  mutating func tell(_ count: AppliedCount) {
    guard isOpen, let start = welcomeStart else { return }
    actions.append(.send(PeerMessage.counted(count).encode(session: session.number, start: start)))
  }

  /// The question of a sibling in a frame: how many peers here have applied a version.
  func question(in frame: UnsafeRawBufferPointer) -> CountApplied? {
    guard frame.count > 4, frame[4] == HubMessageKind.count.rawValue,
      case (let header, .count(let question))? = try? HubMessage.decode(frame), header.start == welcomeStart,
      question.session == session.number
    else { return nil }
    return question
  }
}
