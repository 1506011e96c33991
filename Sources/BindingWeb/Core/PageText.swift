import BindingPeer
import BindingProtocol

/// Writes the messages to pages (protocol §10.1) as JSON text. Values are copied byte for byte.
struct PageText {
  private(set) var bytes: [UInt8] = []

  init(_ kind: StaticString) {
    raw("{\"kind\":\"")
    bytes.append(contentsOf: UnsafeBufferPointer(start: kind.utf8Start, count: kind.utf8CodeUnitCount))
    raw("\"")
  }

  /// The whole message.
  func end() -> [UInt8] { bytes + [UInt8(ascii: "}")] }

  mutating func raw(_ text: StaticString) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func raw(_ more: [UInt8]) { bytes.append(contentsOf: more) }

  mutating func number(_ number: some BinaryInteger) { bytes.append(contentsOf: String(number).utf8) }

  /// A number that may exceed what a page can represent exactly: a string of its digits.
  mutating func digits(_ number: UInt64) {
    raw("\"")
    self.number(number)
    raw("\"")
  }

  mutating func text(_ text: String) { bytes.append(contentsOf: JSON.string(text).bytes) }

  private mutating func name(_ name: StaticString) {
    raw(",\"")
    raw(name)
    raw("\":")
  }

  mutating func member(_ name: StaticString, _ number: some BinaryInteger) {
    self.name(name)
    self.number(number)
  }

  mutating func member(_ name: StaticString, digits number: UInt64) {
    self.name(name)
    digits(number)
  }

  mutating func member(_ name: StaticString, _ text: String) {
    self.name(name)
    self.text(text)
  }

  mutating func member(_ name: StaticString, _ flag: Bool) {
    self.name(name)
    flag ? raw("true") : raw("false")
  }

  mutating func member(_ name: StaticString, _ json: JSON) {
    self.name(name)
    raw(json.bytes)
  }

  /// A list whose elements the closure writes.
  mutating func list<Element>(
    _ name: StaticString, _ elements: some Sequence<Element>, _ write: (inout PageText, Element) -> Void
  ) {
    self.name(name)
    list(elements, write)
  }

  mutating func list<Element>(_ elements: some Sequence<Element>, _ write: (inout PageText, Element) -> Void) {
    raw("[")
    var isFirst = true
    for element in elements {
      if !isFirst { raw(",") }
      isFirst = false
      write(&self, element)
    }
    raw("]")
  }
}

extension PageText {
  /// - Parameters:
  ///   - gateway: the identity that reads for all pages; it is present wherever one of them is.
  ///   - view: for a member's page, who it is.
  static func welcome(_ welcome: Welcome, gateway: Tag, to view: MemberView?) -> [UInt8] {
    var text = PageText("welcome")
    text.member("protocol", welcome.protocolNumber)
    text.member("log", digits: welcome.logID)
    text.member("epoch", digits: welcome.epoch)
    text.member("known", welcome.knewIdentity)
    text.member("durability", "\(welcome.durability)")
    text.member("heartbeat", welcome.heartbeatMilliseconds)
    text.member("lease", welcome.leaseMilliseconds)
    text.member("now", welcome.now)
    text.member("hub", welcome.hub)
    text.member("gateway", gateway.description)
    if welcome.capabilities.contains(Capability.insecure) { text.member("insecure", true) }
    if welcome.capabilities.contains(Capability.lists) { text.member("lists", true) }
    if let view {
      text.member("user", view.member.name)
      text.member("admin", view.isAdmin)
    }
    let limits = welcome.limits
    let named: [(String, Int)] = [
      ("maxValueBytes", limits.maxValueBytes), ("maxDescriptionBytes", limits.maxDescriptionBytes),
      ("maxProposalBytes", limits.maxProposalBytes), ("maxProposalFields", limits.maxProposalFields),
      ("maxModelFields", limits.maxModelFields), ("maxUnacknowledged", limits.maxUnacknowledged),
      ("maxHops", limits.maxHops), ("identityMs", limits.identityMilliseconds),
    ]
    text.member("limits", JSON.object(named.map { JSON.Member($0.0, .integer(Int64($0.1))) }))
    return text.end()
  }

  /// Commits, in order; nil if there are none.
  static func commits(_ model: String, _ epoch: Epoch, _ commits: [CommitInfo]) -> [UInt8]? {
    guard let first = commits.first else { return nil }
    var text = PageText("commits")
    text.member("model", model)
    text.member("epoch", digits: epoch)
    text.member("previous", first.version - 1)
    text.member("time", first.time)
    text.list("commits", commits) { text, commit in
      text.raw("{\"tag\":")
      text.text(commit.origin.tag.description)
      text.names(of: commit.origin)
      text.member("number", commit.number)
      text.member("hops", commit.hops)
      text.list("changes", commit.changes) { text, change in
        text.raw("[")
        text.text(change.field)
        if let value = change.value {
          text.raw(",")
          text.raw(value.bytes)
        }
        text.raw("]")
      }
      text.raw("}")
    }
    return text.end()
  }

  /// A catch-up, split into messages of about `chunkBytes`.
  static func catchup(
    _ model: String, form: StaticString, epoch: Epoch, from previous: Version, to version: Version,
    lastDecided: ProposalNumber, fields: [CommittedField], chunkBytes: Int
  ) -> [[UInt8]] {
    var texts: [[UInt8]] = []
    var rest = fields[...]
    repeat {
      var text = PageText("catchup")
      text.member("model", model)
      text.raw(",\"form\":\"")
      text.raw(form)
      text.raw("\"")
      text.member("epoch", digits: epoch)
      text.member("previous", previous)
      text.member("version", version)
      text.member("mark", lastDecided)
      text.raw(",\"fields\":[")
      let first = rest.startIndex
      while let field = rest.first, text.bytes.count < chunkBytes || rest.startIndex == first {
        if rest.startIndex > first { text.raw(",") }
        text.entry(field)
        rest.removeFirst()
      }
      text.raw("]")
      text.users(of: fields[first..<rest.startIndex])
      text.member("last", rest.isEmpty)
      texts.append(text.end())
    } while !rest.isEmpty
    return texts
  }

  /// The name of a writer, and its user if the hub names one.
  mutating func names(of origin: Origin) {
    member("name", origin.shownName)
    if let user = origin.shownUser { member("user", user) }
  }

  /// The users that wrote these fields, by field, if any has one. An entry of a field has no place for it.
  private mutating func users(of fields: ArraySlice<CommittedField>) {
    let users = fields.compactMap { field in field.origin.shownUser.map { JSON.Member(field.name, .string($0)) } }
    if !users.isEmpty { member("users", JSON.object(users)) }
  }

  private mutating func entry(_ field: CommittedField) {
    raw("[")
    text(field.name)
    raw(",")
    number(field.version)
    raw(",")
    text(field.origin.tag.description)
    raw(",")
    text(field.origin.shownName)
    raw(",")
    number(field.number)
    raw(",")
    number(field.time)
    if let value = field.value {
      raw(",")
      raw(value.bytes)
    }
    raw("]")
  }

  static func outcomes(_ model: String, _ epoch: Epoch, _ outcomes: [WireOutcome]) -> [UInt8] {
    var text = PageText("outcomes")
    text.member("model", model)
    text.member("epoch", digits: epoch)
    text.list("outcomes", outcomes) { text, outcome in
      text.raw("{\"number\":")
      text.number(outcome.number)
      text.member("kind", "\(outcome.kind)")
      text.rest(outcome.rest)
      text.raw("}")
    }
    return text.end()
  }

  private mutating func rest(_ rest: WireOutcome.Rest) {
    switch rest {
    case .committed(let count, let version):
      member("count", count)
      member("version", version)
    case .refused(let refusal):
      member("code", "\(refusal.code)")
      member("text", refusal.text)
    case .conflict(let conflict):
      member("field", conflict.field)
      member("version", conflict.version)
      member("tag", conflict.origin.tag.description)
      names(of: conflict.origin)
      member("age", conflict.ageMilliseconds)
      if let value = conflict.value {
        raw(",\"value\":")
        raw(value.bytes)
      }
    case .retryLater(let code, let pause):
      member("code", "\(code)")
      member("pause", pause)
    case .expected(let next): member("next", next)
    case .unchanged, .expired, .unknown: break
    }
  }

  static func announce(_ prefix: String, isComplete: Bool, _ models: some Sequence<Announced>) -> [UInt8] {
    var text = PageText("announce")
    text.member("prefix", prefix)
    text.member("complete", isComplete)
    text.list("models", models) { text, model in
      text.raw("{\"model\":")
      text.text(model.id)
      text.member("version", model.version)
      text.member("fields", model.fields)
      text.raw("}")
    }
    return text.end()
  }

  /// What the page's member may do in a model.
  static func rights(_ model: String, _ rights: SessionRights) -> [UInt8] {
    var text = PageText("rights")
    text.member("model", model)
    text.member("own", rights.mayOwn)
    text.member("present", rights.mayBePresent)
    text.member("describe", rights.mayDescribe)
    text.list("write", rights.write) { $0.text($1.description) }
    text.list("delete", rights.delete) { $0.text($1.description) }
    return text.end()
  }

  static func heartbeat(_ heartbeat: Heartbeat) -> [UInt8] {
    var text = PageText("heartbeat")
    text.member("number", heartbeat.number)
    text.member("now", heartbeat.now)
    return text.end()
  }

  static func pong(_ token: UInt64) -> [UInt8] {
    var text = PageText("pong")
    text.member("token", token)
    return text.end()
  }

  static func error(
    _ code: ErrorCode, _ words: String, isFatal: Bool = false, model: String? = nil, prefix: String? = nil
  ) -> [UInt8] {
    var text = PageText("error")
    text.member("code", "\(code)")
    text.member("fatal", isFatal)
    text.member("text", words)
    if let model { text.member("model", model) }
    if let prefix { text.member("prefix", prefix) }
    return text.end()
  }
}
