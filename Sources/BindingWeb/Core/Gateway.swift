import BindingPeer
public import BindingProtocol

/// What stands between browser pages and a hub, without sockets, threads, clock or randomness of its own: frames of
/// the hub and texts of pages come in, and what is to be done lies in a `GatewayOutput`.
///
/// Every page is a peer with an identity and numbers of its own: its hello, joins and proposals are passed on under a
/// session of its own, all over one connection, and so are the answers. What is read, all pages read from the one
/// replica of the gateway's own session: gaps, digests and deltas are that session's business and nobody else's.
///
/// The caller feeds what has come in, then calls `finishDrain`, then carries out the actions. Times are milliseconds
/// of any clock that never goes back.
public struct Gateway: Sendable {
  let options: GatewayOptions
  public internal(set) var counters = GatewayCounters()

  /// The session that reads for all pages, and what it wants done.
  var reader: Session
  var wanted = PeerOutput()
  var generator: SeededGenerator
  var pages: [PageID: PageRecord] = [:]
  var bySession: [SessionID: PageID] = [:]
  var byTag: [Tag: PageID] = [:]
  var rooms: [String: Room] = [:]
  var listings: [String: Listing] = [:]
  var own: OwnModel
  var feed = Feed()
  var lastRequest: UInt32 = 0
  /// Models in which some page may be able to get on.
  var touched: Set<String> = []
  var lastTick: UInt64 = 0

  /// - Parameters:
  ///   - identity: of the session that reads; made anew at every start, as any peer's.
  ///   - seed: chance for session numbers and pauses.
  public init(identity: Identity, seed: UInt64, options: GatewayOptions = GatewayOptions(), now: UInt64) {
    self.options = options
    generator = SeededGenerator(seed: seed)
    own = OwnModel(epoch: generator.nextNonZero() >> 1)
    reader = Session(identity: identity, seed: generator.next(), now: now)
  }

  /// Whether there is a hub.
  public var isLive: Bool { reader.phase == .live }
  /// Pages that are connected.
  public var pageCount: Int { pages.count }
  /// Models that are followed for them.
  public var modelCount: Int { rooms.count }

  // MARK: The hub's connection

  /// The hub connection is there.
  public mutating func opened(now: UInt64, into output: inout GatewayOutput) {
    reader.opened(now: now, into: &wanted)
    settle(now: now, &output)
  }

  /// The hub connection is gone.
  public mutating func lost(now: UInt64, into output: inout GatewayOutput) {
    reader.lost(now: now, into: &wanted)
    settle(now: now, &output)
  }

  /// Ends: pages are told to come again later, the hub that its peers are gone.
  public mutating func bye(now: UInt64, into output: inout GatewayOutput) {
    for page in pages.keys.sorted() { end(page, 1001, "the gateway is going", now: now, &output, leaving: true) }
    reader.bye(now: now, into: &wanted)
    settle(now: now, &output)
  }

  // MARK: Pages

  /// A page's connection is there.
  public mutating func arrived(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {
    counters.pagesArrived += 1
    pages[page] = PageRecord(phase: .silent(since: now))
  }

  /// A page's connection takes no more for now.
  public mutating func isFull(_ page: PageID) { pages[page]?.isFull = true }

  /// A page's connection takes more again.
  public mutating func hasRoom(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {
    pages[page]?.isFull = false
    goOn(page, &output)
  }

  /// A page's connection is gone. Its session at the hub lives on for its lease: the page may come back.
  public mutating func gone(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {
    guard let record = pages.removeValue(forKey: page) else { return }
    if record.session != 0 {
      bySession[record.session] = nil
      output.add(.unsubscribe(Topics.sessionTopic(record.session)))
    }
    if let tag = record.hello?.identity.tag, byTag[tag] == page { byTag[tag] = nil }
    for model in record.joins.keys { leaveRoom(model, page, now: now) }
    for prefix in record.prefixes { listings[prefix]?.pages.remove(page) }
    leaveFeed(page, now: now)
  }

  /// Ends a page's connection.
  /// - Parameter leaving: whether the hub is told that this peer is gone for good.
  mutating func end(
    _ page: PageID, _ code: UInt16, _ reason: String, now: UInt64, _ output: inout GatewayOutput, leaving: Bool = false
  ) {
    if leaving, pages[page]?.isLive == true { send(.leave(Leave()), for: page, now: now, &output) }
    gone(page, now: now, into: &output)
    output.add(.end(page, code: code, reason: reason))
  }

  // MARK: Drains and time

  /// Does what follows from all that was fed since.
  public mutating func finishDrain(now: UInt64, into output: inout GatewayOutput) {
    settle(now: now, &output)
    reader.finishDrain(now: now, into: &wanted)
    settle(now: now, &output)
    while let model = touched.popFirst() { getOn(in: model, now: now, &output) }
    settle(now: now, &output)
  }

  /// When `tick` is due.
  public var nextDeadline: UInt64 {
    if pages.values.contains(where: { !$0.queue.isEmpty && !$0.isFull }) { return 0 }
    let own = pages.isEmpty && rooms.isEmpty ? UInt64.max : lastTick + 250
    return min(reader.nextDeadline, own)
  }

  /// Does what is due by now.
  public mutating func tick(now: UInt64, into output: inout GatewayOutput) {
    reader.tick(now: now, into: &wanted)
    settle(now: now, &output)
    for page in pages.keys.sorted() where pages[page]?.queue.isEmpty == false { goOn(page, &output) }
    guard now >= lastTick + 250 else { return }
    lastTick = now
    sendFeed(&output)
    let lease = UInt64(reader.welcome?.leaseMilliseconds ?? 10_000)
    for (page, record) in pages.sorted(by: { $0.key < $1.key }) {
      switch record.phase {
      case .silent(let since) where now >= since + options.helloMilliseconds:
        counters.silentPages += 1
        end(page, 4004, "no hello", now: now, &output)
      case .live:
        // The page is there as long as its socket is, whatever a browser does to the timers of a hidden one.
        if now >= record.lastSentAt + lease / 3 { send(.alive(Alive(heartbeat: 0)), for: page, now: now, &output) }
        for (model, membership) in record.joins {
          if case .asked(_, let at) = membership.progress, now >= at + options.joinMilliseconds {
            pages[page]?.joins[model]?.progress = .waiting
            touched.insert(model)
          }
        }
      default: break
      }
    }
    for (model, room) in rooms {
      guard let since = room.emptySince, now >= since + options.lingerMilliseconds else { continue }
      rooms[model] = nil
      if model != OwnModel.id { reader.leave(model, now: now, into: &wanted) }
    }
    for (prefix, listing) in listings where listing.pages.isEmpty {
      listings[prefix] = nil
      reader.leavePrefix(prefix)
    }
  }

  // MARK: Saying

  mutating func send(_ message: PeerMessage, for page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard let record = pages[page], record.session != 0 else { return }
    pages[page]?.lastSentAt = now
    output.add(.send(message.encode(session: record.session, start: record.start)))
  }

  mutating func sendText(to page: PageID, _ text: [UInt8], _ output: inout GatewayOutput) {
    counters.textsSent += 1
    output.add(.sendText(page, text))
  }
}
