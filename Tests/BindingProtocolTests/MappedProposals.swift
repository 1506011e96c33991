import BindingProtocol

extension NumberedProposal: Mapped {
  static var blank: NumberedProposal { NumberedProposal(topic: 0, number: 0, operations: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("topic", &topic)
    content.number("number", &number)
    content.number("confirmed", &confirmed)
    var flags: UInt8 = (isVoid ? 1 : 0) | (isEarlier ? 2 : 0)
    content.number("flags", &flags)
    (isVoid, isEarlier) = (flags & 1 != 0, flags & 2 != 0)
    content.number("hops", &hops)
    content.list("metadata", &metadata)
    content.list("conditions", &conditions)
    content.list("operations", &operations)
  }
}

extension MetadataEntry: Mapped {
  static var blank: MetadataEntry { MetadataEntry(name: "", value: "") }

  mutating func map(_ content: inout ContentMap) {
    content.text("name", &name)
    content.text("value", &value)
  }
}

extension FieldReference: Mapped {
  static var blank: FieldReference { .id(0) }

  mutating func map(_ content: inout ContentMap) {
    var id = FieldID.max
    if case .id(let known) = self { id = known }
    var name = ""
    if case .name(let known) = self { name = known }
    content.number("id", &id)
    if content.isReading ? content.holds("name") : id == FieldID.max { content.text("name", &name) }
    self = id == FieldID.max ? .name(name) : .id(id)
  }
}

extension WireCondition: Mapped {
  static var blank: WireCondition { WireCondition(epoch: 0, version: 0, field: .blank) }

  mutating func map(_ content: inout ContentMap) {
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.object("fieldref", &field)
  }
}

extension WireOperation: Mapped {
  static var blank: WireOperation { WireOperation(verb: .set, field: .blank, value: nil) }

  mutating func map(_ content: inout ContentMap) {
    content.choice("verb", &verb)
    content.object("fieldref", &field)
    content.value("value", &value)
  }
}

extension Outcomes: Mapped {
  static var blank: Outcomes { Outcomes(session: 0, epoch: 0, outcomes: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("epoch", &epoch)
    content.list("outcomes", &outcomes)
  }
}

extension Conflict: Mapped {
  static var blank: Conflict {
    Conflict(field: "", version: 0, origin: .none, ageMilliseconds: 0, value: nil)
  }

  mutating func map(_ content: inout ContentMap) {
    content.text("field", &field)
    content.number("version", &version)
    content.tag("tag", &origin.tag)
    content.text("name", &origin.name)
    content.number("ageMs", &ageMilliseconds)
    content.value("value", &value)
  }
}

extension WireOutcome: Mapped {
  static var blank: WireOutcome { WireOutcome(topic: 0, number: 0, .unchanged) }

  mutating func map(_ content: inout ContentMap) {
    var kind = self.kind
    content.number("topic", &topic)
    content.number("number", &number)
    content.choice("kind", &kind)
    if content.isReading { rest = Self.blankRest(kind) }
    switch rest {
    case .committed(var count, var version):
      content.number("count", &count)
      content.number("version", &version)
      rest = .committed(count: count, version: version)
    case .refused(var refusal):
      content.choice("code", &refusal.code)
      content.text("text", &refusal.text)
      rest = .refused(refusal)
    case .conflict(var conflict):
      conflict.map(&content)
      rest = .conflict(conflict)
    case .retryLater(var code, var pause):
      content.choice("code", &code)
      content.number("pauseMs", &pause)
      rest = .retryLater(code, pauseMilliseconds: pause)
    case .expected(var next):
      content.number("next", &next)
      rest = .expected(next: next)
    case .unchanged, .expired, .unknown: break
    }
  }

  private static func blankRest(_ kind: Kind) -> Rest {
    switch kind {
    case .committed: .committed(count: 0, version: 0)
    case .unchanged: .unchanged
    case .refused: .refused(Refusal(.loop, ""))
    case .conflict: .conflict(.blank)
    case .expired: .expired
    case .unknown: .unknown
    case .retryLater: .retryLater(.busy, pauseMilliseconds: 0)
    case .expected: .expected(next: 0)
    }
  }
}
