import BindingHub
import BindingProtocol

/// A client of the hub: an identity with one session, one request connection and one publish connection.
struct Speaker {
  var identity: Identity
  var session: SessionID
  var connection: ConnectionID
  var subscriber: SubscriberID

  init(_ number: UInt64, _ name: String) {
    identity = Identity(secret: Secret(high: number, low: ~number), name: name)
    session = 0x5000 + number
    connection = number
    subscriber = 10_000_000 + number
  }

  static let ann = Speaker(1, "ann")
  static let ben = Speaker(2, "ben")
  static let cat = Speaker(3, "cat")

  var origin: Origin { Origin(tag: identity.tag, name: identity.name) }

  /// The same identity in a later session, over other connections.
  func again(_ number: UInt64) -> Speaker {
    var other = Speaker(number, identity.name)
    other.identity = identity
    return other
  }

  func frame(_ message: PeerMessage) -> [UInt8] { message.encode(session: session, start: HubBench.start) }
}

extension NumberedProposal {
  static func of(
    _ number: ProposalNumber, _ operations: [WireOperation], conditions: [WireCondition] = [],
    confirmed: ProposalNumber = 0, isVoid: Bool = false, hops: UInt8 = 0, topic: Topic = HubBench.lamp
  ) -> NumberedProposal {
    NumberedProposal(
      topic: topic, number: number, confirmed: confirmed, isVoid: isVoid, hops: hops, conditions: conditions,
      operations: operations)
  }
}

extension WireOperation {
  static func set(_ field: String, _ value: String) -> WireOperation { of(.set, field, value) }

  static func delete(_ field: String) -> WireOperation { of(.delete, field) }

  static func of(_ verb: Verb, _ field: String, _ value: String? = nil) -> WireOperation {
    WireOperation(verb: verb, field: .name(field), value: value.map(json))
  }
}

extension WireCondition {
  static func unchanged(_ field: String, since version: Version, epoch: Epoch = HubBench.epoch) -> WireCondition {
    WireCondition(epoch: epoch, version: version, field: .name(field))
  }
}

extension WireOutcome.Rest {
  static func committed(_ version: Version) -> WireOutcome.Rest { .committed(count: 1, version: version) }

  var refusal: RefusalCode? {
    if case .refused(let refusal) = self { refusal.code } else { nil }
  }

  var retryReason: RetryReason? {
    if case .retryLater(let code, _) = self { code } else { nil }
  }

  var conflict: Conflict? {
    if case .conflict(let conflict) = self { conflict } else { nil }
  }
}

func json(_ text: String) -> FieldValue { FieldValue(bytes: Array(text.utf8)) }

/// A JSON string of N bytes, including its quotes.
func text(ofBytes count: Int) -> String { "\"" + String(repeating: "x", count: count - 2) + "\"" }
