import BindingProtocol

extension Hello: Mapped {
  static var blank: Hello {
    Hello(identity: Identity(tag: .none, secret: Secret(high: 0, low: 0), name: ""))
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("lowest", &lowest)
    content.number("highest", &highest)
    content.tag("tag", &identity.tag)
    content.secret("secret", &identity.secret)
    content.text("name", &identity.name)
    content.flag("flags", &isResuming)
    content.number("leaseMs", &leaseMilliseconds)
    content.text("encoding", &encoding)
    content.texts("capabilities", &capabilities)
  }
}

extension Welcome: Mapped {
  static var blank: Welcome {
    Welcome(
      session: 0, logID: 0, epoch: 0, durability: .memory, heartbeatMilliseconds: 0, leaseMilliseconds: 0, now: 0,
      hub: "",
      endpoints: [])
  }

  mutating func map(_ content: inout ContentMap) {
    var flags: UInt8 = (knewIdentity ? 1 : 0) | (mayAskOffers ? 2 : 0)
    var list = limits.list
    content.number("session", &session)
    content.number("protocol", &protocolNumber)
    content.number("logID", &logID)
    content.number("epoch", &epoch)
    content.number("flags", &flags)
    content.choice("durability", &durability)
    content.number("heartbeatMs", &heartbeatMilliseconds)
    content.number("leaseMs", &leaseMilliseconds)
    content.number("now", &now)
    content.text("hub", &hub)
    content.list("limits", &list)
    content.list("ways", &endpoints)
    content.texts("capabilities", &capabilities)
    knewIdentity = flags & 1 != 0
    mayAskOffers = flags & 2 != 0
    limits.list = list
  }
}

/// One entry of a welcome's limits.
struct LimitEntry: Mapped {
  var code: UInt8
  var limit: UInt64

  static var blank: LimitEntry { LimitEntry(code: 0, limit: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("code", &code)
    content.number("limit", &limit)
  }
}

extension Limits {
  /// The limits in the order of their codes, repeated here so that a moved code is noticed.
  var list: [LimitEntry] {
    get {
      [
        maxValueBytes, maxProposalBytes, maxProposalFields, maxModelFields, maxModelIdBytes, maxFieldNameBytes,
        maxModels,
        maxSessions, maxUnacknowledged, chunkBytes, maxPublishedBytes, maxFrameBytes, maxHops, maxTopics,
        routedQueueBytes, identityMilliseconds, maxDescriptionBytes, maxElementIDBytes,
      ].enumerated().map { LimitEntry(code: UInt8($0.offset + 1), limit: UInt64($0.element)) }
    }
    set {
      for entry in newValue {
        let limit = Int(entry.limit)
        switch entry.code {
        case 1: maxValueBytes = limit
        case 2: maxProposalBytes = limit
        case 3: maxProposalFields = limit
        case 4: maxModelFields = limit
        case 5: maxModelIdBytes = limit
        case 6: maxFieldNameBytes = limit
        case 7: maxModels = limit
        case 8: maxSessions = limit
        case 9: maxUnacknowledged = limit
        case 10: chunkBytes = limit
        case 11: maxPublishedBytes = limit
        case 12: maxFrameBytes = limit
        case 13: maxHops = limit
        case 14: maxTopics = limit
        case 15: routedQueueBytes = limit
        case 16: identityMilliseconds = limit
        case 17: maxDescriptionBytes = limit
        case 18: maxElementIDBytes = limit
        default: break
        }
      }
    }
  }
}

extension HubEndpoint: Mapped {
  static var blank: HubEndpoint { HubEndpoint(request: "", publish: "") }

  mutating func map(_ content: inout ContentMap) {
    content.text("request", &request)
    content.text("publish", &publish)
  }
}

extension Alive: Mapped {
  static var blank: Alive { Alive(heartbeat: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("heartbeat", &heartbeat)
    content.list("models", &entries)
  }
}

extension AliveEntry: Mapped {
  static var blank: AliveEntry { AliveEntry(topic: 0, confirmed: 0, applied: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("topic", &topic)
    content.number("confirmed", &confirmed)
    content.number("applied", &applied)
  }
}

/// A topic as a list entry of its own.
struct TopicEntry: Mapped {
  var topic: Topic

  static var blank: TopicEntry { TopicEntry(topic: 0) }

  mutating func map(_ content: inout ContentMap) { content.number("topic", &topic) }
}

extension Leave: Mapped {
  static var blank: Leave { Leave() }

  mutating func map(_ content: inout ContentMap) {
    var list = topics.map { TopicEntry(topic: $0) }
    content.list("models", &list)
    topics = list.map { $0.topic }
  }
}

extension Ping: Mapped {
  static var blank: Ping { Ping(token: 0) }

  mutating func map(_ content: inout ContentMap) { content.number("token", &token) }
}

extension Pong: Mapped {
  static var blank: Pong { Pong(session: 0, token: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("token", &token)
  }
}

extension UpstreamState: Mapped {
  static var blank: UpstreamState { UpstreamState(session: 0, isReached: false) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.flag("reached", &isReached)
  }
}

extension ErrorMessage: Mapped {
  static var blank: ErrorMessage { ErrorMessage(session: 0, code: .malformed, isFatal: false, text: "") }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.choice("code", &code)
    content.flag("fatal", &isFatal)
    content.text("text", &text)
  }
}

extension StatusReport: Mapped {
  static var blank: StatusReport { StatusReport(session: 0, json: FieldValue(bytes: [])) }

  mutating func map(_ content: inout ContentMap) {
    var value: FieldValue? = json
    content.number("session", &session)
    content.value("json", &value)
    if let value { json = value }
  }
}

extension AskOffer: Mapped {
  static var blank: AskOffer { AskOffer(session: 0, request: 0, topic: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.number("topic", &topic)
  }
}

extension Offer: Mapped {
  static var blank: Offer {
    Offer(request: 0, topic: 0, epoch: 0, version: 0, chunk: 0, isLast: false, fields: [])
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("request", &request)
    content.number("topic", &topic)
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.number("chunk", &chunk)
    content.flag("last", &isLast)
    content.list("fields", &fields)
    guard content.isReading ? content.holds("numbers") : numbers != nil else { return }
    var seen = numbers ?? []
    content.list("numbers", &seen)
    numbers = seen
  }
}

extension SeenNumber: Mapped {
  static var blank: SeenNumber { SeenNumber(tag: .none, number: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.tag("tag", &tag)
    content.number("number", &number)
  }
}

extension OfferedField: Mapped {
  static var blank: OfferedField {
    OfferedField(name: "", version: 0, origin: .none, number: 0, time: 0, value: nil)
  }

  mutating func map(_ content: inout ContentMap) {
    content.text("name", &name)
    content.number("version", &version)
    content.tag("tag", &origin.tag)
    content.text("origin", &origin.name)
    content.number("number", &number)
    content.number("time", &time)
    content.value("value", &value)
  }
}

extension ApprovalRequest: Mapped {
  static var blank: ApprovalRequest { ApprovalRequest(session: 0, topic: 0, token: 0, origin: .none, fields: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("topic", &topic)
    content.number("token", &token)
    content.tag("tag", &origin.tag)
    content.text("origin", &origin.name)
    content.list("fields", &fields)
  }
}

extension ApprovalField: Mapped {
  static var blank: ApprovalField { ApprovalField(name: "", value: nil) }

  mutating func map(_ content: inout ContentMap) {
    content.text("name", &name)
    content.value("value", &value)
  }
}

extension Approval: Mapped {
  static var blank: Approval { Approval(topic: 0, token: 0, isAccepted: false) }

  mutating func map(_ content: inout ContentMap) {
    content.number("topic", &topic)
    content.number("token", &token)
    content.flag("accept", &isAccepted)
    content.text("text", &text)
  }
}
