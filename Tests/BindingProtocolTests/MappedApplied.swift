import BindingProtocol

extension AwaitApplied: Mapped {
  static var blank: AwaitApplied { AwaitApplied(request: 0, topic: 0, epoch: 0, version: 0, timeoutMilliseconds: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("request", &request)
    content.number("topic", &topic)
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.number("count", &count)
    content.number("withinMs", &timeoutMilliseconds)
  }
}

extension Awaited: Mapped {
  static var blank: Awaited { Awaited(session: 0, request: 0, end: .incomplete) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.number("applied", &applied)
    content.number("of", &of)
    content.choice("end", &end)
    content.texts("missing", &missing)
  }
}

extension AskApplied: Mapped {
  static var blank: AskApplied { AskApplied(epoch: 0, version: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("epoch", &epoch)
    content.number("version", &version)
    var flags: UInt8 = 0
    content.number("flags", &flags)
  }
}

extension AppliedEntry: Mapped {
  static var blank: AppliedEntry { AppliedEntry(topic: 0, epoch: 0, version: 0, digest: 0, healed: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("topic", &topic)
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.number("digest", &digest)
    content.number("healed", &healed)
  }
}

extension Verify: Mapped {
  static var blank: Verify { Verify(timeoutMilliseconds: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("withinMs", &timeoutMilliseconds)
    content.number("after", &after)
    content.texts("names", &names)
  }
}

extension CountApplied: Mapped {
  static var blank: CountApplied {
    CountApplied(session: 0, request: 0, model: "", epoch: 0, version: 0, isOfAll: false, timeoutMilliseconds: 0)
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.text("model", &model)
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.flag("all", &isOfAll)
    content.number("withinMs", &timeoutMilliseconds)
  }
}

extension AppliedCount: Mapped {
  static var blank: AppliedCount { AppliedCount(request: 0, applied: 0, of: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("request", &request)
    content.number("applied", &applied)
    content.number("of", &of)
    content.texts("missing", &missing)
  }
}
