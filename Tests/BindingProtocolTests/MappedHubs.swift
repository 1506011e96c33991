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
