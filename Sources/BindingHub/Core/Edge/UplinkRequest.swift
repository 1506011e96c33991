package import BindingProtocol

/// What an edge asks of its uplink, which carries it out at the upstream hub. Sessions are those of the edge's peers.
package enum UplinkRequest: Sendable, Hashable {
  /// Follow a model from now on.
  case follow(String)
  /// Follow a model no longer.
  case unfollow(String)
  /// Tell which models there are below a prefix, now and later.
  case list(String)
  /// Open a session upstream for this peer's identity.
  case greet(SessionID, Hello)
  /// Join a model under a session's identity: the answer tells its mark, and the version that contains it.
  case join(SessionID, EdgeJoin)
  /// Join a model under a session's identity if it has not: its peer is present there. Nothing is answered.
  case attend(SessionID, model: String)
  /// Pass proposals for one model on, in order.
  case propose(SessionID, model: String, [PassedProposal])
  /// Pass proposals on to the home of a model, in order.
  case forward(ForwardedProposals)
  /// Tell the hub there how many peers here have applied a version.
  case counted(AppliedCount)
  /// Wait until others have applied a version; the request's number is the edge's own, and its topic means nothing.
  case await(AwaitApplied, model: String)
  /// Wait no longer.
  case stopWaiting(UInt32)
  /// Ask for a page of history, by the edge's own number; the topic means nothing.
  case history(HistoryRequest, model: String)
  /// Ask no longer.
  case stopAsking(UInt32)
  /// A peer has received all outcomes up to some numbers.
  case alive(SessionID, [EdgeProgress])
  /// A session has left a model.
  case leave(SessionID, model: String)
  /// A peer has answered for a model that it owns; the topic means nothing.
  case approval(SessionID, model: String, Approval)
  /// A session has ended.
  case end(SessionID, EdgeEnd)
}

/// How a session of an edge has ended.
package enum EdgeEnd: Sendable, Hashable {
  /// Its peer has left: the identity may be forgotten.
  case left
  /// Its peer is gone, or is to say hello again: what it had in ephemeral models goes.
  case lost
  /// Its peer has another session.
  case replaced
}

/// A join that is asked upstream, with what the peer said in its own.
package struct EdgeJoin: Sendable, Hashable {
  /// The model's id.
  package var model: String
  /// The peer's replica; 0, 0: none.
  package var epoch: Epoch
  package var version: Version
  /// The lowest number of a proposal whose outcome the peer has not received.
  package var unacknowledged: ProposalNumber

  package init(model: String, epoch: Epoch, version: Version, unacknowledged: ProposalNumber) {
    self.model = model
    self.epoch = epoch
    self.version = version
    self.unacknowledged = unacknowledged
  }
}

/// How far a peer is in one model.
package struct EdgeProgress: Sendable, Hashable {
  package var model: String
  package var confirmed: ProposalNumber
  package var applied: Version

  package init(model: String, confirmed: ProposalNumber, applied: Version) {
    self.model = model
    self.confirmed = confirmed
    self.applied = applied
  }
}

/// A proposal on its way through an edge: the peer's bytes, with fields by name in place of the edge's numbers.
package struct PassedProposal: Sendable, Hashable {
  package let number: ProposalNumber
  /// Up to this number the peer has received all outcomes.
  package let confirmed: ProposalNumber
  /// Everything after the topic.
  private let rest: [UInt8]
  /// Why the edge does not let the proposal be applied. It is passed on as void, so that its number is decided.
  package let refusal: Refusal?

  /// Takes the present proposal of a cursor.
  /// - Parameters:
  ///   - versions: those of an ephemeral model, whose conditions are about versions upstream.
  ///   - name: the name of a field by the edge's number; nil: it has given no such number.
  init(
    _ proposal: ProposalCursor, refusal: Refusal?, versions: EphemeralVersions? = nil, name: (FieldID) -> String?
  ) throws(WireError) {
    (number, confirmed) = (proposal.number, proposal.confirmed)
    self.refusal = refusal
    var writer = WireWriter()
    writer.u32(proposal.number)
    writer.u32(proposal.confirmed)
    writer.u8((proposal.isVoid || refusal != nil ? 1 : 0) | (proposal.isEarlier ? 2 : 0))
    writer.u8(proposal.hops)
    writer.u8(UInt8(truncatingIfNeeded: proposal.metadataCount))
    var metadata = proposal.metadata
    while try metadata.next() {
      writer.text8(metadata.name)
      writer.u16(UInt16(truncatingIfNeeded: metadata.value.count))
      writer.raw(metadata.value)
    }
    writer.u8(UInt8(truncatingIfNeeded: proposal.conditionCount))
    var conditions = proposal.conditions
    while try conditions.next() {
      let place = versions?.upstream(conditions.epoch, conditions.version)
      writer.u64(place?.epoch ?? conditions.epoch)
      writer.u64(place?.version ?? conditions.version)
      writer.field(conditions.id, conditions.name, name)
    }
    writer.u16(UInt16(truncatingIfNeeded: proposal.operationCount))
    var operations = proposal.operations
    while try operations.next() {
      writer.u8(operations.verbNumber)
      if operations.verb == .clear {
        writer.u32(0)
      } else {
        writer.field(operations.id, operations.name, name)
      }
      if let value = operations.value { writer.value(value) } else { writer.u32(.max) }
    }
    rest = writer.bytes
  }

  /// Its bytes on the wire.
  package var byteCount: Int { rest.count + 4 }

  /// Appends it to the body of a `propose`, for a hub that gave the model this topic.
  package func write(to writer: inout WireWriter, topic: Topic) {
    writer.u32(topic)
    writer.raw(rest)
  }
}

extension WireWriter {
  /// Appends a field's name; where there is none, a number that no hub has given: the upstream hub refuses it.
  fileprivate mutating func field(_ id: FieldID?, _ bytes: UnsafeRawBufferPointer?, _ name: (FieldID) -> String?) {
    if let bytes {
      u32(.max)
      text8(bytes)
    } else if let id, let name = name(id) {
      u32(.max)
      text8(name)
    } else {
      u32(.max - 1)
    }
  }
}
