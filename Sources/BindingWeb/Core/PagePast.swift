import BindingPeer
import BindingProtocol

/// A page's request for earlier commits, which refers to its model by name.
struct PageHistory {
  var model: String
  /// Its topic is filled in when it is forwarded.
  var request: HistoryRequest

  init(_ body: PageParts) throws(WireError) {
    model = try body.model()
    request = HistoryRequest(
      request: UInt32(try body.number("request", 0...UInt64(UInt32.max))), topic: Topics.firstModel)
    request.isOldestFirst = try body.flagIfAny("oldest") ?? false
    request.epoch = try body.digitsIfAny("epoch") ?? 0
    request.after = try body.numberIfAny("after", 0...PageParts.exact) ?? 0
    request.through = try body.numberIfAny("through", 0...PageParts.exact) ?? 0
    request.since = try body.numberIfAny("since", 0...PageParts.exact) ?? 0
    request.until = try body.numberIfAny("until", 0...PageParts.exact) ?? 0
    request.count = UInt16(try body.numberIfAny("count", 0...UInt64(UInt16.max)) ?? 0)
    for json in try body.listIfAny("fields") { request.fields.append(try body.field(json)) }
    for json in try body.listIfAny("writers") {
      guard let text = json.string, text.utf8.count <= 255 else {
        throw body.fault("writers", "has an element that is not a string of at most 255 bytes")
      }
      request.writers.append(text)
    }
    for (place, count) in [("fields", request.fields.count), ("writers", request.writers.count)] where count > 255 {
      throw body.fault(place, "has \(count) elements; 255 are allowed")
    }
  }
}

/// The past of models that a page has joined: the hub answers, under the page's own session.
extension Gateway {
  /// Passes a page's request on, if its session has joined the model at the hub.
  mutating func pass(_ asked: PageHistory, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    let membership = pages[page]?.joins[asked.model]
    let answers = models.session.welcome?.capabilities.contains(Capability.history) == true
    guard answers, !Gateway.isReadOnly(asked.model) else { return refuse(asked, as: .none, page, &output) }
    guard let membership, let topic = membership.topic, !membership.owesAnswer else {
      return refuse(asked, as: .notJoined, page, &output)
    }
    var request = asked.request
    request.topic = topic
    send(.history(request), for: page, now: now, &output)
  }

  private mutating func refuse(
    _ asked: PageHistory, as end: PastPage.End, _ page: PageID, _ output: inout GatewayOutput
  ) {
    let answer = PastPage(session: 0, request: asked.request.request, end: end)
    sendText(to: page, PageText.past(asked.model, answer), &output)
  }

  /// Passes the hub's answer on.
  mutating func handle(_ answer: PastPage, _ topic: Topic, _ page: PageID, _ output: inout GatewayOutput) {
    guard let model = pages[page]?.topics[topic] else { return }
    sendText(to: page, PageText.past(model, answer), &output)
  }
}

extension PageText {
  /// A page of earlier commits.
  static func past(_ model: String, _ page: PastPage) -> [UInt8] {
    var text = PageText("past")
    text.member("model", model)
    text.member("request", page.request)
    text.member("end", "\(page.end)")
    guard page.end == .more || page.end == .all else { return text.end() }
    text.member("next", page.next)
    text.member("horizon", page.horizon)
    text.member("reason", "\(page.reason)")
    text.member("head", page.head)
    text.list("commits", page.commits) { text, commit in
      text.raw("{\"epoch\":")
      text.digits(commit.epoch)
      text.member("version", commit.version)
      text.member("time", commit.time)
      text.member("tag", commit.origin.tag.description)
      text.names(of: commit.origin)
      text.member("number", commit.number)
      text.list("changes", commit.changes) { $0.change($1) }
      text.raw("}")
    }
    return text.end()
  }

  private mutating func change(_ change: PastChange) {
    raw("[")
    text(change.field)
    if let value = change.value {
      raw(",")
      raw(value.bytes)
    } else if change.isRemoved {
      raw(",null,true")
    }
    raw("]")
  }
}
