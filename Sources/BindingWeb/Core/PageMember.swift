import BindingPeer
import BindingProtocol

/// The member for whom a page speaks, because an invitation has let its browser in. Other pages are the hub's own, and
/// may do everything.
package struct PageMember: Sendable, Hashable {
  /// The id of the browser's session in the list of members.
  package var session: String
  /// The member's name.
  package var name: String
  /// What its invitation gave it; the hub's rights may say otherwise.
  package var role: String?

  /// Makes one.
  package init(session: String, name: String, role: String?) {
    (self.session, self.name, self.role) = (session, name, role)
  }

  /// What its hello names.
  var representation: Representation { Representation(name: name, role: role) }
}

/// A browser that is let in, for people who look after the hub.
package struct PageBrowser: Sendable, Hashable {
  /// The member, and the session that ends with the browser.
  package var member: PageMember
  /// The browser, in its own words.
  package var label: String
  /// Seconds since 1970.
  package var since: Int64
  package var until: Int64

  /// Makes one.
  package init(member: PageMember, label: String, since: Int64, until: Int64) {
    (self.member, self.label, self.since, self.until) = (member, label, since, until)
  }

  /// - Parameter pages: how many of its pages are open.
  func json(pages: Int) -> JSON {
    .object([
      .init("session", .string(member.session)), .init("name", .string(member.name)),
      .init("role", member.role.map { .string($0) } ?? .null), .init("label", .string(label)),
      .init("since", .integer(since)), .init("until", .integer(until)), .init("pages", .integer(Int64(pages))),
    ])
  }
}

/// What the gateway knows of what a member's page may see: what the hub has told the page's own session.
struct MemberView: Sendable {
  let member: PageMember
  /// Whether the member has the right `admin`.
  var isAdmin = false
  /// The prefixes that the page has joined at the hub, by request.
  private var prefixes: [UInt32: String] = [:]
  /// The prefixes whose models were all announced.
  private var complete: Set<String> = []
  /// Whether the feed has asked for all models that the page may read.
  private var hasAskedForFeed = false
  /// The models that were announced to the page's session: what it may see of the feed.
  private var announced: Set<String> = []

  /// The most models that are remembered; the feed does not show others.
  static let maxAnnounced = 20_000

  init(_ member: PageMember) { self.member = member }

  /// The page joins a prefix by a request.
  mutating func join(_ prefix: String, by request: UInt32) {
    leave(prefix)
    prefixes[request] = prefix
  }

  mutating func leave(_ prefix: String) {
    prefixes = prefixes.filter { $0.value != prefix }
    complete.remove(prefix)
  }

  /// Whether the hub is still to be asked for the feed's models; once. A page that follows all models is told them, and
  /// the hub would answer a second request instead of that one.
  mutating func asksForFeed() -> Bool {
    defer { hasAskedForFeed = true }
    return !hasAskedForFeed && !prefixes.values.contains("")
  }

  /// Takes an announcement of the hub.
  /// - Returns: the prefix that the page has joined, and whether all models that were there are announced; nil if the
  ///   page has left it, or the feed asked.
  mutating func take(_ announce: Announce) -> (prefix: String, isComplete: Bool)? {
    for model in announce.models where announced.count < MemberView.maxAnnounced { announced.insert(model.model) }
    guard let prefix = prefixes[announce.request] else { return nil }
    if announce.isComplete { complete.insert(prefix) }
    return (prefix, complete.contains(prefix))
  }

  func sees(_ model: String) -> Bool { announced.contains(model) }
}

/// Pages that speak for members. The hub decides each of their joins under their own sessions; until it has let one
/// in, nothing that the gateway knows of the model is sent, and nothing that it does differs by whether the model is
/// there.
extension Gateway {
  /// Whether a page waits for the hub to let it join.
  func isUngranted(_ membership: Membership, of page: PageID) -> Bool {
    !membership.isGranted && pages[page]?.view != nil
  }

  /// Asks the hub to let a page join a model.
  mutating func ask(for id: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard let membership = pages[page]?.joins[id] else { return }
    lastRequest += 1
    pages[page]?.joins[id]?.progress = .asked(request: lastRequest, at: now)
    // With what the gateway has, so that the hub sends it nothing twice. What the page claims to have the hub is not
    // told.
    let isCurrent = models.rooms[id] != nil && models.session.isCurrent(id)
    let (epoch, version) = isCurrent ? models.session.version(of: id) : (0, 0)
    let join = Join(
      request: lastRequest, model: id, epoch: epoch, version: version, namesKnown: isCurrent ? .max : 0,
      unacknowledged: membership.unacknowledged)
    send(.join([join]), for: page, now: now, &output)
  }

  /// The hub will let a page join a model, once it can send the model's messages over this connection: so the gateway
  /// follows the model. The page is sent nothing yet.
  mutating func prepare(_ id: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard let membership = pages[page]?.joins[id], isUngranted(membership, of: page) else { return }
    guard hasRoom(for: id, page, now: now, &output) else { return drop(id, page, now: now, &output) }
    if models.rooms[id] == nil { models.rooms[id] = Room(emptySince: now) }
    models.join(id, now: now)
  }

  /// The hub has let a page join a model.
  mutating func grant(_ id: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard hasRoom(for: id, page, now: now, &output) else { return drop(id, page, now: now, &output) }
    pages[page]?.joins[id]?.isGranted = true
    enter(id, page, now: now, &output)
  }

  /// The hub has refused a page's join, or would refuse it now: the page gets nothing more of the model.
  /// - Returns: whether it was a join of the page.
  mutating func refuse(_ error: ErrorMessage, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) -> Bool {
    guard pages[page]?.view != nil, let id = error.refusedJoin, pages[page]?.joins[id] != nil else { return false }
    counters.joinsRefused += 1
    drop(id, page, now: now, &output)
    sendText(to: page, PageText.error(error.code, error.text, model: id), &output)
    return true
  }

  private mutating func drop(_ id: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard let membership = pages[page]?.joins.removeValue(forKey: id) else { return }
    leaveRoom(id, page, now: now)
    guard let topic = membership.topic else { return }
    pages[page]?.topics[topic] = nil
    send(.leave(Leave(topics: [topic])), for: page, now: now, &output)
  }

  // MARK: Prefixes

  /// Asks the hub for what a page may read below a prefix.
  /// - Parameter isForPage: whether the page is told; else only the feed goes by it.
  mutating func askForPrefix(
    _ prefix: String, isForPage: Bool = false, _ page: PageID, now: UInt64, _ output: inout GatewayOutput
  ) {
    lastRequest += 1
    if isForPage { pages[page]?.view?.join(prefix, by: lastRequest) }
    send(.join([Join(request: lastRequest, prefix: prefix)]), for: page, now: now, &output)
  }

  mutating func handle(_ announce: Announce, _ page: PageID, _ output: inout GatewayOutput) {
    guard let (prefix, isComplete) = pages[page]?.view?.take(announce) else { return }
    let models = announce.models.map { Announced(id: $0.model, version: $0.version, fields: Int($0.fields)) }
    for text in Gateway.announcements(prefix, models, isComplete: isComplete) { sendText(to: page, text, &output) }
  }

  // MARK: The end

  /// The members for whom pages are open, by page.
  package var members: [PageID: PageMember] { pages.compactMapValues { $0.view?.member } }

  /// The most browsers that are listed.
  static let maxBrowsers = 256

  /// The browsers that are in, as a field of the gateway's own model.
  var browserList: JSON {
    var open: [String: Int] = [:]
    for page in pages.values { if let view = page.view { open[view.member.session, default: 0] += 1 } }
    return .array(browsers.prefix(Gateway.maxBrowsers).map { $0.json(pages: open[$0.member.session] ?? 0) })
  }

  /// Ends a browser for a page that may do so.
  mutating func endBrowser(_ session: String, for page: PageID, _ output: inout GatewayOutput) {
    if let view = pages[page]?.view, !view.isAdmin {
      return sendText(to: page, PageText.error(.notPermitted, "\(view.member.name) lacks the right admin"), &output)
    }
    output.add(.endBrowser(session))
  }

  /// Ends a member's page, whose session is over.
  package mutating func dismiss(
    _ page: PageID, _ code: UInt16, _ reason: String, now: UInt64, into output: inout GatewayOutput
  ) {
    guard pages[page] != nil else { return }
    end(page, code, reason, now: now, &output, leaving: true)
  }
}
