import BindingProtocol

extension OtherHubs: Mapped {
  static var blank: OtherHubs { OtherHubs(session: 0, addresses: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    var texts = addresses.map(\.description)
    content.texts("hubs", &texts)
    addresses = texts.compactMap { try? HubAddress($0) }
  }
}

extension DrainRequest: Mapped {
  static var blank: DrainRequest { DrainRequest(withinMilliseconds: 0, isAnyway: false) }

  mutating func map(_ content: inout ContentMap) {
    content.number("withinMs", &withinMilliseconds)
    content.flag("anyway", &isAnyway)
  }
}

extension Forward: Mapped {
  static var blank: Forward {
    Forward(
      ForwardHead(
        model: "", record: 0, identity: Identity(tag: .none, secret: Secret(high: 0, low: 0), name: ""), user: nil), [])
  }

  mutating func map(_ content: inout ContentMap) {
    content.text("model", &head.model)
    content.number("record", &head.record)
    content.tag("tag", &head.identity.tag)
    content.secret("secret", &head.identity.secret)
    content.text("name", &head.identity.name)
    var user = head.user ?? ""
    content.text("user", &user)
    head.user = user.isEmpty ? nil : user
    content.list("proposals", &proposals)
  }
}
