import BindingProtocol

extension GoodVectors {
  /// Questions about earlier commits, and pages of them.
  static var past: [(file: String, vector: Vector)] {
    var some = HistoryRequest(request: 9, topic: kiosk)
    some.isOldestFirst = true
    (some.epoch, some.after, some.through) = (epoch, 12, UInt64.max)
    (some.since, some.until, some.count) = (1_790_000_000_000, 1_790_000_003_600, 20)
    some.fields = ["level", "@description"]
    some.writers = ["kitchen", "Gerät ☀️", "5158298726b4245f"]
    return [
      ("history", up(.history(HistoryRequest(request: 7, topic: lamp)))),
      ("history-some", up(.history(some))),
      ("past", down(.past(page), topic: lamp)),
      ("past-none", down(.past(PastPage(session: session, request: 9, end: .none)), topic: kiosk)),
    ]
  }

  private static var page: PastPage {
    var page = PastPage(session: session, request: 7, end: .more)
    (page.next, page.horizon, page.reason, page.head) = (40, 3, .notKept, 42)
    let kitchen = Origin(tag: Tag(rawValue: 0xA1), name: "kitchen", user: "anna")
    page.commits = [
      PastCommit(
        epoch: epoch, version: 42, time: 1_790_000_000_123, origin: kitchen, number: 7,
        changes: [
          PastChange(field: "level", value: FieldValue(bytes: Array("0.8".utf8))), PastChange(field: "on", value: nil),
        ]),
      PastCommit(
        epoch: epoch - 1, version: 41, time: 1_790_000_000_000, origin: Origin(tag: .none, name: "hub"), number: 0,
        changes: [PastChange(field: "level", value: nil, isRemoved: true)]),
      PastCommit(epoch: epoch - 1, version: 40, time: 0, origin: kitchen, number: 6, changes: []),
    ]
    return page
  }
}
