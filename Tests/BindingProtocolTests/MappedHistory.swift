import BindingProtocol

extension HistoryRequest: Mapped {
  static var blank: HistoryRequest { HistoryRequest(request: 0, topic: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("request", &request)
    content.number("topic", &topic)
    var flags: UInt8 = isOldestFirst ? 1 : 0
    content.number("flags", &flags)
    isOldestFirst = flags == 1
    content.number("epoch", &epoch)
    content.number("after", &after)
    content.number("through", &through)
    content.number("since", &since)
    content.number("until", &until)
    content.number("count", &count)
    content.texts("fields", &fields)
    content.texts("writers", &writers)
  }
}

extension PastPage: Mapped {
  static var blank: PastPage { PastPage(session: 0, request: 0, end: .all) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.choice("end", &end)
    content.number("next", &next)
    content.number("horizon", &horizon)
    content.choice("reason", &reason)
    content.number("head", &head)
    content.list("commits", &commits)
  }
}

extension PastCommit: Mapped {
  static var blank: PastCommit {
    PastCommit(epoch: 0, version: 0, time: 0, origin: .none, number: 0, changes: [])
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.number("time", &time)
    content.object("origin", &origin)
    content.number("number", &number)
    content.list("changes", &changes)
  }
}

extension PastChange: Mapped {
  static var blank: PastChange { PastChange(field: "", value: nil) }

  mutating func map(_ content: inout ContentMap) {
    content.text("name", &field)
    var state: UInt8 = value != nil ? 0 : isRemoved ? 2 : 1
    content.number("state", &state)
    isRemoved = state == 2
    if state == 0 { content.value("value", &value) }
  }
}
