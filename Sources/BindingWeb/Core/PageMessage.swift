import BindingProtocol

/// A message from a page (protocol §10.1), parsed and checked.
enum PageMessage {
  case hello(Hello)
  case join(PageJoin)
  case joinPrefix(String)
  /// Starts or stops the feed of all commits.
  case joinFeed, leaveFeed
  case leave(String)
  case leavePrefix(String)
  case bye
  case propose(PageProposal)
  case alive(heartbeat: UInt64, [PageProgress])
  case ping(UInt64)
  /// Asks for earlier commits.
  case history(PageHistory)
  /// A browser is to be let in no longer.
  case endBrowser(session: String)

  /// Parses a text. Throws with the location of the fault.
  init(_ text: UnsafeRawBufferPointer) throws(WireError) {
    let parts = PageParts("page", try JSON(parsing: text))
    let kind = try parts.text("kind")
    let body = PageParts(kind, parts.json)
    switch kind {
    case "hello": self = .hello(try PageMessage.hello(body))
    case "join":
      if let prefix = try body.textIfAny("prefix") {
        do { try Names.checkPrefix(prefix) } catch { throw body.fault("prefix", error.problem) }
        self = .joinPrefix(prefix)
      } else if try body.flagIfAny("feed") == true {
        self = .joinFeed
      } else {
        self = .join(try PageJoin(body))
      }
    case "leave":
      if let model = try body.textIfAny("model") {
        self = .leave(model)
      } else if let prefix = try body.textIfAny("prefix") {
        self = .leavePrefix(prefix)
      } else if try body.flagIfAny("feed") == true {
        self = .leaveFeed
      } else {
        self = .bye
      }
    case "propose": self = .propose(try PageProposal(body))
    case "alive":
      let models = try body.listIfAny("models").map { entry throws(WireError) in
        try PageProgress(PageParts("alive.models", entry))
      }
      self = .alive(heartbeat: try body.number("heartbeat", 0...PageParts.exact), models)
    case "history": self = .history(try PageHistory(body))
    case "end": self = .endBrowser(session: try body.text("session"))
    case "ping": self = .ping(try body.number("token", 0...PageParts.exact))
    default: throw parts.fault("kind", "is \(kind.debugDescription), not a kind of page message")
    }
  }

  private static func hello(_ body: PageParts) throws(WireError) -> Hello {
    let lowest = try body.numberIfAny("lowest", 0...255) ?? 0
    let highest = try body.numberIfAny("highest", 0...255) ?? 0
    if lowest > highest { throw body.fault("highest", "is \(highest), below lowest, \(lowest)") }
    guard let tag = Tag(try body.text("tag")) else { throw body.fault("tag", "is not 16 hexadecimal digits") }
    if tag == .none { throw body.fault("tag", "is all zeros, which is reserved") }
    let digits = try body.text("secret")
    let halves = [digits.prefix(16), digits.dropFirst(16)].compactMap { Tag(String($0))?.rawValue }
    guard halves.count == 2 else { throw body.fault("secret", "is not 32 hexadecimal digits") }
    let name = try body.text("name")
    do { try Names.checkPeer(name) } catch { throw body.fault("name", error.problem) }
    let identity = Identity(tag: tag, secret: Secret(high: halves[0], low: halves[1]), name: name)
    // Other capabilities concern messages that pages do not have.
    let capabilities = try body.listIfAny("capabilities").compactMap(\.string).filter {
      $0 == Capability.recovery || Opening.isNamed(by: $0)
    }
    return Hello(
      lowest: UInt8(lowest), highest: UInt8(highest), identity: identity,
      isResuming: try body.flagIfAny("resuming") ?? false, capabilities: capabilities)
  }
}

/// A model to join, with the state that the page has.
struct PageJoin {
  var model: String
  var epoch: Epoch
  var version: Version
  var unacknowledged: ProposalNumber

  init(_ body: PageParts) throws(WireError) {
    model = try body.model()
    epoch = try body.digitsIfAny("epoch") ?? 0
    version = try body.numberIfAny("version", 0...PageParts.exact) ?? 0
    unacknowledged = ProposalNumber(try body.numberIfAny("unacknowledged", 1...UInt64(UInt32.max)) ?? 1)
  }
}

/// A page's numbered proposal, which refers to its model and fields by name.
struct PageProposal {
  var model: String
  /// Its topic is filled in when it is forwarded.
  var proposal: NumberedProposal

  init(_ body: PageParts) throws(WireError) {
    model = try body.model()
    var operations: [WireOperation] = []
    for json in try body.list("operations") { operations.append(try PageProposal.operation(json)) }
    if operations.isEmpty || operations.count > 65_535 {
      throw body.fault("operations", "has \(operations.count) elements; 1 to 65535 are allowed")
    }
    var conditions: [WireCondition] = []
    for json in try body.listIfAny("conditions") {
      let parts = PageParts("propose.conditions", json)
      conditions.append(
        WireCondition(
          epoch: try parts.digits(json[1], "1"), version: try parts.number(json[2], "2", 0...PageParts.exact),
          field: .name(try parts.field(json[0]))))
    }
    if conditions.count > Condition.maxCount {
      throw body.fault("conditions", "has \(conditions.count) elements; \(Condition.maxCount) are allowed")
    }
    proposal = NumberedProposal(
      topic: Topics.firstModel, number: ProposalNumber(try body.number("number", 1...UInt64(UInt32.max))),
      confirmed: ProposalNumber(try body.numberIfAny("confirmed", 0...UInt64(UInt32.max)) ?? 0),
      isVoid: try body.flagIfAny("void") ?? false, isEarlier: try body.flagIfAny("earlier") ?? false,
      hops: UInt8(try body.numberIfAny("hops", 0...255) ?? 0),
      conditions: conditions, operations: operations)
  }

  private static func operation(_ json: JSON) throws(WireError) -> WireOperation {
    let parts = PageParts("propose.operations", json)
    guard let word = json[0]?.string, let verb = Verb(word: word) else {
      throw parts.fault("0", "is \(json[0]?.text ?? "missing"), not a verb")
    }
    if verb.takesValue != (json[2] != nil) {
      throw parts.fault(
        "2", verb.takesValue ? "is missing: \(word) needs a value" : "is present: \(word) takes no value")
    }
    return WireOperation(
      verb: verb, field: verb == .clear ? .id(0) : .name(try parts.field(json[1])), value: json[2].map(FieldValue.init))
  }
}

/// A page's progress in one model.
struct PageProgress {
  var model: String
  var confirmed: ProposalNumber
  var applied: Version

  init(_ body: PageParts) throws(WireError) {
    model = try body.model()
    confirmed = ProposalNumber(try body.numberIfAny("confirmed", 0...UInt64(UInt32.max)) ?? 0)
    applied = try body.number("applied", 0...PageParts.exact)
  }
}
