import BindingPeer
package import BindingProtocol

/// The state machine between browser pages and a hub, without sockets, threads, clock or randomness of its own.
/// Frames of the hub and texts of pages go in; actions come out in a `GatewayOutput`.
///
/// Every page is a peer with an identity and numbers of its own. Its hello, joins and proposals are forwarded under
/// a session of its own, all over one connection, and so are the answers. All pages read from one replica, that of
/// the gateway's own session, which alone handles gaps, digests and deltas.
///
/// The caller feeds all input that has arrived, then calls `finishDrain`, then carries out the actions. Times are
/// milliseconds of a monotonic clock.
package struct Gateway: Sendable {
  let options: GatewayOptions
  /// What the gateway has done and refused.
  package internal(set) var counters = GatewayCounters()

  var models: FollowedModels
  var generator: SeededGenerator
  var pages: [PageID: PageRecord] = [:]
  var bySession: [SessionID: PageID] = [:]
  var byTag: [Tag: PageID] = [:]
  var listings: [String: Listing] = [:]
  var own: OwnModel
  var feed = Feed()
  /// The browsers of members that are in, as the caller last told.
  package var browsers: [PageBrowser] = []
  var lastRequest: UInt32 = 0
  /// Models in which some page may be able to advance.
  var touched: Set<String> = []
  var lastTick: UInt64 = 0

  /// Makes a gateway that is not connected.
  ///
  /// - Parameters:
  ///   - identity: the identity of the reading session, new for every run like that of any peer.
  ///   - seed: for random session numbers and pauses.
  package init(identity: Identity, seed: UInt64, options: GatewayOptions = GatewayOptions(), now: UInt64) {
    self.options = options
    generator = SeededGenerator(seed: seed)
    own = OwnModel(epoch: generator.nextNonZero() >> 1)
    let session = Session(identity: identity, seed: generator.next(), now: now)
    models = FollowedModels(session, limit: options.maxModels)
  }

  /// Whether the hub has welcomed the gateway.
  package var isLive: Bool { models.session.phase == .live }
  /// The number of connected pages.
  package var pageCount: Int { pages.count }
  /// The number of models followed for pages.
  package var modelCount: Int { models.rooms.count }

  // MARK: The hub's connection

  /// Reports that the hub connection is open.
  package mutating func opened(now: UInt64, into output: inout GatewayOutput) {
    models.session.opened(now: now, into: &models.effects)
    settle(now: now, &output)
  }

  /// Reports that the hub connection is lost.
  package mutating func lost(now: UInt64, into output: inout GatewayOutput) {
    models.session.lost(now: now, into: &models.effects)
    settle(now: now, &output)
  }

  /// Ends the gateway: asks pages to reconnect later, and ends their sessions at the hub.
  package mutating func bye(now: UInt64, into output: inout GatewayOutput) {
    for page in pages.keys.sorted() {
      end(page, 1001, "the gateway is shutting down", now: now, &output, leaving: true)
    }
    models.session.bye(now: now, into: &models.effects)
    settle(now: now, &output)
  }

  // MARK: Pages

  /// Reports that a page has connected.
  /// - Parameter member: for whom it speaks; nil: it is the hub's own, and may do everything.
  package mutating func arrived(
    _ page: PageID, for member: PageMember? = nil, now: UInt64, into output: inout GatewayOutput
  ) {
    counters.pagesArrived += 1
    pages[page] = PageRecord(phase: .silent(since: now), view: member.map(MemberView.init))
  }

  /// Reports that a page's connection is full.
  package mutating func isFull(_ page: PageID) { pages[page]?.isFull = true }

  /// Reports that a page's connection is writable again.
  package mutating func hasRoom(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {
    pages[page]?.isFull = false
    goOn(page, &output)
  }

  /// Reports that a page's connection has closed. Its session at the hub lives for the rest of its lease, because
  /// the page may reconnect.
  package mutating func gone(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {
    guard let record = pages.removeValue(forKey: page) else { return }
    if record.session != 0 {
      bySession[record.session] = nil
      output.add(.unsubscribe(Topics.sessionTopic(record.session)))
    }
    if let tag = record.hello?.identity.tag, byTag[tag] == page { byTag[tag] = nil }
    for model in record.joins.keys { leaveRoom(model, page, now: now) }
    for prefix in record.prefixes { listings[prefix]?.pages.remove(page) }
    feed.leave(page, &models, now: now)
  }

  /// Ends a page's connection.
  /// - Parameter leaving: whether to end the page's session at the hub, too.
  mutating func end(
    _ page: PageID, _ code: UInt16, _ reason: String, now: UInt64, _ output: inout GatewayOutput, leaving: Bool = false
  ) {
    if leaving, pages[page]?.isLive == true { send(.leave(Leave()), for: page, now: now, &output) }
    gone(page, now: now, into: &output)
    output.add(.end(page, code: code, reason: reason))
  }

  // MARK: Drains and time

  /// Handles the consequences of all input since the last call.
  package mutating func finishDrain(now: UInt64, into output: inout GatewayOutput) {
    settle(now: now, &output)
    models.session.finishDrain(now: now, into: &models.effects)
    settle(now: now, &output)
    while let model = touched.popFirst() { getOn(in: model, now: now, &output) }
    settle(now: now, &output)
  }

  /// The time at which `tick` is due.
  package var nextDeadline: UInt64 {
    if pages.values.contains(where: { !$0.queue.isEmpty && !$0.isFull }) { return 0 }
    let own = pages.isEmpty && models.rooms.isEmpty ? UInt64.max : lastTick + 250
    return min(models.session.nextDeadline, own)
  }

  /// Does everything that is due by now.
  package mutating func tick(now: UInt64, into output: inout GatewayOutput) {
    models.session.tick(now: now, into: &models.effects)
    settle(now: now, &output)
    for page in pages.keys.sorted() where pages[page]?.queue.isEmpty == false { goOn(page, &output) }
    guard now >= lastTick + 250 else { return }
    lastTick = now
    sendFeed(&output)
    let lease = UInt64(models.session.welcome?.leaseMilliseconds ?? 10_000)
    for (page, record) in pages.sorted(by: { $0.key < $1.key }) {
      switch record.phase {
      case .silent(let since) where now >= since + options.helloMilliseconds:
        counters.silentPages += 1
        end(page, 4004, "no hello", now: now, &output)
      case .live:
        // A page is alive as long as its socket is, even if the browser throttles the timers of a hidden page.
        if now >= record.lastSentAt + lease / 3 { send(.alive(Alive(heartbeat: 0)), for: page, now: now, &output) }
        for (model, membership) in record.joins.sorted(by: { $0.key < $1.key }) {
          guard case .asked(_, let at) = membership.progress, now >= at + options.joinMilliseconds else { continue }
          if isUngranted(membership, of: page) {
            ask(for: model, page, now: now, &output)
          } else {
            pages[page]?.joins[model]?.progress = .waiting
            touched.insert(model)
          }
        }
      default: break
      }
    }
    models.leaveEmpty(after: options.lingerMilliseconds, now: now)
    for (prefix, listing) in listings where listing.pages.isEmpty {
      listings[prefix] = nil
      models.session.leavePrefix(prefix)
    }
  }

  // MARK: Sending

  mutating func send(_ message: PeerMessage, for page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard let record = pages[page], record.session != 0 else { return }
    pages[page]?.lastSentAt = now
    output.add(.send(message.encode(session: record.session, start: record.start)))
  }

  /// Sends the feed's lines since the last send. A page that reads too slowly misses them.
  private mutating func sendFeed(_ output: inout GatewayOutput) {
    guard !feed.pages.isEmpty, let (lines, left) = feed.take() else { return }
    let text = PageText.feed(lines, left: left)
    for page in feed.pages.sorted() {
      guard let record = pages[page], record.isLive, !record.isBusy else { continue }
      guard let view = record.view else {
        sendText(to: page, text, &output)
        continue
      }
      // How much there was of others is not for the page either.
      let seen = lines.filter { view.sees($0.model) }
      if !seen.isEmpty { sendText(to: page, PageText.feed(seen, left: 0), &output) }
    }
  }

  /// Requests a report of the hub.
  func askStatus(_ output: inout GatewayOutput) {
    output.add(.send(PeerMessage.status.encode(session: 0, start: 0)))
  }

  mutating func sendText(to page: PageID, _ text: [UInt8], _ output: inout GatewayOutput) {
    counters.textsSent += 1
    output.add(.sendText(page, text))
  }
}
