/// A part of a message that can be read and written.
package protocol WireContent: Sendable {
  /// Reads a value at the current position. Throws, and never traps, on malformed bytes.
  init(from reader: inout WireReader) throws(WireError)
  /// Appends the value.
  func write(to writer: inout WireWriter)
}

/// The kinds of messages from a peer to the hub.
package enum PeerMessageKind: UInt8, Sendable, CaseIterable {
  case hello = 0x01
  case join
  case propose
  case alive
  case leave
  case askHeads
  case ping
  case offer
  case status
  case awaitApplied
  case report
  case approval
  case verify = 0x10
  case history = 0x11
  case drain = 0x12
  case forward = 0x13
  case counted = 0x14

  /// The name in the protocol.
  package var name: StaticString {
    switch self {
    case .hello: "hello"
    case .join: "join"
    case .propose: "propose"
    case .alive: "alive"
    case .leave: "leave"
    case .askHeads: "askHeads"
    case .ping: "ping"
    case .offer: "offer"
    case .status: "status"
    case .awaitApplied: "await"
    case .report: "report"
    case .verify: "verify"
    case .approval: "approval"
    case .history: "history"
    case .drain: "drain"
    case .forward: "forward"
    case .counted: "counted"
    }
  }
}

/// The kinds of messages from the hub to peers.
package enum HubMessageKind: UInt8, Sendable, CaseIterable {
  case upstream = 0x80
  case welcome = 0x81
  case keys = 0x82
  case topic = 0x83
  case joined = 0x84
  case outcomes = 0x85
  case announce = 0x86
  case heads = 0x87
  case error = 0x88
  case pong = 0x89
  case askOffer = 0x8A
  case statusReport = 0x8B
  case awaited = 0x8C
  case approve = 0x8D
  case rights = 0x8E
  case commits = 0x90
  case catchup = 0x91
  case head = 0x92
  case heartbeat = 0x93
  case ask = 0x94
  case past = 0x95
  case hubs = 0x96
  case count = 0x97

  /// The name in the protocol.
  package var name: StaticString {
    switch self {
    case .upstream: "upstream"
    case .welcome: "welcome"
    case .keys: "keys"
    case .topic: "topic"
    case .joined: "joined"
    case .outcomes: "outcomes"
    case .announce: "announce"
    case .heads: "heads"
    case .error: "error"
    case .pong: "pong"
    case .askOffer: "askOffer"
    case .statusReport: "statusReport"
    case .awaited: "awaited"
    case .approve: "approve"
    case .rights: "rights"
    case .commits: "commits"
    case .catchup: "catchup"
    case .head: "head"
    case .heartbeat: "heartbeat"
    case .ask: "ask"
    case .past: "past"
    case .hubs: "hubs"
    case .count: "count"
    }
  }

  /// The topic of every message of this kind; nil if it is the model's.
  package var fixedTopic: Topic? {
    switch self {
    case .commits, .catchup, .head, .ask, .past: nil
    case .heartbeat: Topics.heartbeat
    default: Topics.none
    }
  }
}

extension WireReader {
  /// The elements of a list whose count has been read and checked.
  package mutating func elements<Element: WireContent>(_ count: Int) throws(WireError) -> [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(count)
    for _ in 0..<count { elements.append(try Element(from: &self)) }
    return elements
  }

  /// A number that must be a raw value of an enumeration.
  package mutating func choice<Choice: RawRepresentable>(
    _ place: StaticString, _ number: Choice.RawValue, _ allowed: String
  ) throws(WireError) -> Choice {
    guard let choice = Choice(rawValue: number) else { throw error(place, "is \(number); allowed are \(allowed)") }
    return choice
  }

  /// A model id.
  mutating func modelID(_ place: StaticString) throws(WireError) -> String {
    let bytes = try text8Bytes(place)
    do { try Names.checkModel(bytes) } catch { throw relabelled(error, place) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A model id, or the name of an ephemeral model.
  mutating func anyModelID(_ place: StaticString) throws(WireError) -> String {
    let bytes = try text8Bytes(place)
    do { try Names.checkAnyModel(bytes) } catch { throw relabelled(error, place) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A field name.
  mutating func fieldName(_ place: StaticString) throws(WireError) -> String {
    let bytes = try text8Bytes(place)
    do { try Names.checkField(bytes) } catch { throw relabelled(error, place) }
    return String(decoding: bytes, as: UTF8.self)
  }

  func relabelled(_ problem: WireError, _ place: StaticString) -> WireError {
    error(place, problem.problem, code: .badName)
  }

  /// A model's topic.
  mutating func modelTopic(_ place: StaticString) throws(WireError) -> Topic {
    let topic = try u32(place)
    guard Topics.isModel(topic) else { throw error(place, "is \(topic); a model's is at least \(Topics.firstModel)") }
    return topic
  }

  /// The tag of an identity.
  package mutating func tag(_ place: StaticString) throws(WireError) -> Tag { Tag(rawValue: try u64(place)) }

  /// An identity as it is claimed: its tag may not match its secret.
  mutating func identity() throws(WireError) -> Identity {
    let tag = try tag("tag")
    if tag == .none { throw error("tag", "is all zeros, which is reserved") }
    let secret = Secret(high: try u64("secret"), low: try u64("secret"))
    let name = try text8("name")
    do { try Names.checkPeer(name) } catch { throw relabelled(error, "name") }
    return Identity(tag: tag, secret: secret, name: name)
  }

  /// A `writer`.
  package mutating func origin(_ place: StaticString) throws(WireError) -> Origin {
    let tag = try tag(place)
    let (name, user) = try writerNames(place)
    return Origin(tag: tag, name: name, user: user)
  }

  /// What follows the tag in a `writer`, in place: its name and, after the length that no name alone has, its user.
  mutating func writerNames(
    _ place: StaticString
  ) throws(WireError) -> (name: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer?) {
    let length = try u8(place)
    guard length == Origin.userFollows else { return (try checkedText(Int(length), place), nil) }
    let (name, user) = (try text8Bytes(place), try text8Bytes(place))
    if user.isEmpty { throw error(place, "announces a user and names none") }
    return (name, user)
  }
}

extension WireWriter {
  /// Appends elements, without their count.
  package mutating func elements<Element: WireContent>(_ elements: [Element]) {
    for element in elements { element.write(to: &self) }
  }

  /// Appends an identity with its secret.
  mutating func identity(_ identity: Identity) {
    u64(identity.tag.rawValue)
    u64(identity.secret.high)
    u64(identity.secret.low)
    text8(identity.name)
  }

  /// Appends a `writer`.
  package mutating func origin(_ origin: Origin) {
    u64(origin.tag.rawValue)
    guard let user = origin.user, !user.isEmpty else {
      var name = origin.name
      return name.withUTF8 { text8(UTF8Check.cut(UnsafeRawBufferPointer($0), to: Int(Origin.userFollows) - 1)) }
    }
    u8(Origin.userFollows)
    text8(origin.name)
    text8(user)
  }
}

extension Origin {
  /// The length in place of a name's that announces a name and a user.
  fileprivate static let userFollows: UInt8 = 0xFF

  /// Copies the names, UTF-8, out of a frame.
  init(tag: Tag, name: UnsafeRawBufferPointer, user: UnsafeRawBufferPointer?) {
    self.init(
      tag: tag, name: String(decoding: name, as: UTF8.self), user: user.map { String(decoding: $0, as: UTF8.self) })
  }
}
