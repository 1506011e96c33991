import BindingHub
import BindingProtocol
import Testing

/// What the hub sent in one or several drains, decoded.
struct Received {
  struct Frame {
    var destination: HubOutput.Destination
    var header: HubHeader
    var message: HubMessage
    var byteCount: Int
  }
  var frames: [Frame] = []
  var cut: [SubscriberID] = []
  var reload: [String] = []
  var newEpoch: Epoch?
  var forgotten: Set<BindingProtocol.Tag> = []
  var notices: [HubNotice] = []

  init(_ output: HubOutput) {
    (cut, reload, newEpoch) = (output.cut, output.reload, output.newEpoch)
    (notices, forgotten) = (output.notices, output.forgotten)
    var decoded: [Frame] = []
    output.forEachFrame { destination, bytes in
      do {
        let (header, message) = try HubMessage.decode(bytes)
        decoded.append(Frame(destination: destination, header: header, message: message, byteCount: bytes.count))
      } catch {
        Issue.record("the hub sent a frame that does not follow the protocol: \(error)")
      }
    }
    frames = decoded
  }

  static func + (left: Received, right: Received) -> Received {
    var sum = left
    sum.frames += right.frames
    sum.cut += right.cut
    sum.reload += right.reload
    sum.notices += right.notices
    sum.newEpoch = right.newEpoch ?? left.newEpoch
    sum.forgotten.formUnion(right.forgotten)
    return sum
  }

  var published: [Frame] { frames.filter { $0.destination == .publish } }

  func frames(to peer: Speaker) -> [Frame] { frames.filter { $0.destination == .connection(peer.connection) } }

  func messages(to peer: Speaker) -> [HubMessage] { frames(to: peer).map(\.message) }

  // MARK: By kind

  /// The outcomes of a peer's proposals, by number; a run of commits is split.
  func outcomes(_ peer: Speaker, topic: Topic = HubBench.lamp) -> [ProposalNumber: WireOutcome.Rest] {
    var byNumber: [ProposalNumber: WireOutcome.Rest] = [:]
    for case .outcomes(let outcomes) in messages(to: peer) where outcomes.session == peer.session {
      for outcome in outcomes.outcomes where outcome.topic == topic {
        guard case .committed(let count, let version) = outcome.rest else {
          byNumber[outcome.number] = outcome.rest
          continue
        }
        for offset in 0..<UInt32(count) {
          byNumber[outcome.number + offset] = .committed(count: 1, version: version + UInt64(offset))
        }
      }
    }
    return byNumber
  }

  func errors(_ peer: Speaker) -> [ErrorMessage] {
    messages(to: peer).compactMap { if case .error(let error) = $0 { error } else { nil } }
  }

  func welcome(_ peer: Speaker) -> Welcome? {
    messages(to: peer).lazy.compactMap { if case .welcome(let welcome) = $0 { welcome } else { nil } }.first
  }

  func joined(_ peer: Speaker) -> [Joined] {
    messages(to: peer).compactMap { if case .joined(let joined) = $0 { joined } else { nil } }
  }

  func chunks(_ peer: Speaker) -> [CatchupChunk] {
    messages(to: peer).compactMap { if case .catchup(let chunk) = $0 { chunk } else { nil } }
  }

  func announces(_ peer: Speaker) -> [Announce] {
    messages(to: peer).compactMap { if case .announce(let announce) = $0 { announce } else { nil } }
  }

  func askedOffers(_ peer: Speaker) -> [AskOffer] {
    messages(to: peer).compactMap { if case .askOffer(let ask) = $0 { ask } else { nil } }
  }

  /// The commits sent to this destination.
  func commits(_ destination: HubOutput.Destination = .publish) -> [CommitGroup] {
    frames.filter { $0.destination == destination }
      .compactMap { if case .commits(let group) = $0.message { group } else { nil } }
  }

  func heads(_ destination: HubOutput.Destination = .publish) -> [Head] {
    frames.filter { $0.destination == destination }
      .compactMap { if case .head(let head) = $0.message { head } else { nil } }
  }

  func heartbeats(_ destination: HubOutput.Destination = .publish) -> [Heartbeat] {
    frames.filter { $0.destination == destination }
      .compactMap { if case .heartbeat(let heartbeat) = $0.message { heartbeat } else { nil } }
  }
}

/// A model assembled from a join's answer.
struct ReadModel {
  struct Field: Equatable {
    var value: String
    var version: Version
    var origin: Origin
    var number: ProposalNumber
  }
  var epoch: Epoch = 0
  var version: Version = 0
  var fields: [String: Field] = [:]

  var values: [String: String] { fields.mapValues(\.value) }

  init(_ received: Received, for peer: Speaker) {
    guard let joined = received.joined(peer).last else {
      Issue.record("the join was not answered")
      return
    }
    (epoch, version) = (joined.epoch, joined.version)
    var names: [String] = []
    for chunk in received.chunks(peer) {
      names += chunk.names.names
      for entry in chunk.entries {
        guard let value = entry.value else { continue }
        fields[names[Int(entry.field)]] = Field(
          value: value.description, version: entry.version, origin: chunk.origins[Int(entry.origin)],
          number: entry.number)
      }
    }
    let digest = fields.reduce(UInt64(0)) {
      $0 &+ fieldDigest(name: $1.key, version: $1.value.version, value: json($1.value.value))
    }
    #expect(joined.digest == digest, "the answer adds up to its digest")
  }
}

extension WireOutcome.Rest {
  var isCommitted: Bool { if case .committed = self { true } else { false } }
}
