import BindingPeer
import BindingProtocol

extension Gateway {
  /// Receives one text from a page. A malformed message ends the page's connection.
  package mutating func receive(
    _ text: UnsafeRawBufferPointer, from page: PageID, now: UInt64, into output: inout GatewayOutput
  ) {
    guard let record = pages[page] else { return }
    counters.textsReceived += 1
    do throws(WireError) {
      let message = try PageMessage(text)
      switch (record.phase, message) {
      case (.silent, .hello(let hello)): handle(hello, page, now: now, &output)
      case (.live, .hello): throw WireError(message: "hello", place: "kind", problem: "was sent already")
      case (.live, _): handle(message, page, now: now, &output)
      default:
        throw WireError(message: "page", place: "kind", problem: "arrived before the welcome")
      }
    } catch {
      counters.malformedTexts += 1
      end(page, 4000, error.description, now: now, &output)
    }
  }

  private mutating func handle(_ hello: Hello, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    pages[page]?.hello = hello
    pages[page]?.phase = .waiting
    if isLive { greet(page, now: now, &output) }
  }

  /// Forwards a page's hello to the hub, under a new session of its own.
  mutating func greet(_ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard var hello = pages[page]?.hello else { return }
    // The gateway serves its own release of the page.
    hello.capabilities += [Capability.lists, Capability.history]
    if let view = pages[page]?.view {
      hello.capabilities += [Capability.users, Capability.rights, view.member.representation.text]
    }
    let session = generator.nextNonZero()
    pages[page]?.session = session
    pages[page]?.phase = .greeting
    bySession[session] = page
    byTag[hello.identity.tag] = page
    output.add(.subscribe(Topics.sessionTopic(session)))
    send(.hello(hello), for: page, now: now, &output)
  }

  private mutating func handle(_ message: PageMessage, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    switch message {
    case .hello: break
    case .join(let join): handle(join, page, now: now, &output)
    case .joinPrefix(let prefix): joinPrefix(prefix, page, now: now, &output)
    case .joinFeed:
      if feed.join(page) { askStatus(&output) }
      if pages[page]?.view?.asksForFeed() == true { askForPrefix("", page, now: now, &output) }
    case .leaveFeed: feed.leave(page, &models, now: now)
    case .leave(let model): leave(model, page, now: now, &output)
    case .leavePrefix(let prefix):
      pages[page]?.prefixes.remove(prefix)
      pages[page]?.view?.leave(prefix)
      listings[prefix]?.pages.remove(page)
    case .bye: end(page, 1000, "", now: now, &output, leaving: true)
    case .propose(let proposal): pass(proposal, page, now: now, &output)
    case .alive(let heartbeat, let progress):
      let entries = progress.compactMap { entry -> AliveEntry? in
        guard let topic = pages[page]?.joins[entry.model]?.topic else { return nil }
        return AliveEntry(topic: topic, confirmed: entry.confirmed, applied: entry.applied)
      }
      send(.alive(Alive(heartbeat: heartbeat, entries: entries)), for: page, now: now, &output)
    case .history(let asked): pass(asked, page, now: now, &output)
    case .endBrowser(let session): endBrowser(session, for: page, &output)
    case .ping(let token): send(.ping(Ping(token: token)), for: page, now: now, &output)
    }
  }

  // MARK: Joining

  private mutating func handle(_ join: PageJoin, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    let id = join.model
    if pages[page]?.joins[id] == nil, (pages[page]?.joins.count ?? 0) >= options.maxModelsPerPage {
      counters.joinsRefused += 1
      let words = "this page has joined \(options.maxModelsPerPage) models, the limit"
      return sendText(to: page, PageText.error(.tooManyTopics, words, model: id), &output)
    }
    if let view = pages[page]?.view, id == OwnModel.id, !view.isAdmin {
      let words = "\(view.member.name) lacks the right admin"
      return sendText(to: page, PageText.error(.notPermitted, "\(id): \(words)", model: id), &output)
    }
    let mustAsk = pages[page]?.view != nil && id != OwnModel.id && pages[page]?.joins[id]?.isGranted != true
    // What others follow shows what exists, so a page that is to be asked for is not refused by it before.
    guard mustAsk || hasRoom(for: id, page, now: now, &output) else { return }
    var membership = Membership(epoch: join.epoch, version: join.version, unacknowledged: join.unacknowledged)
    membership.topic = pages[page]?.joins[id]?.topic
    membership.lastDecided = pages[page]?.joins[id]?.lastDecided ?? 0
    membership.isGranted = !mustAsk
    pages[page]?.joins[id] = membership
    if mustAsk { ask(for: id, page, now: now, &output) } else { enter(id, page, now: now, &output) }
  }

  /// Whether the gateway can follow one more model for a page; tells the page if not.
  mutating func hasRoom(
    for id: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput
  ) -> Bool {
    // The last models are reserved for pages that have joined few, so that early pages cannot exclude later ones.
    let used = models.rooms.count - models.emptyCount
    let isScarce = used >= options.maxModels - options.reservedModels
    let isGreedy = isScarce && (pages[page]?.joins.count ?? 0) >= options.reservedModelsPerPage
    if models.rooms[id] == nil, isGreedy || !models.makeRoom(&feed.followed, now: now) {
      counters.joinsRefused += 1
      let all =
        "the pages of this gateway have joined \(used) models; the limit is \(options.maxModels), "
        + "of which \(options.reservedModels) are reserved for pages with fewer than \(options.reservedModelsPerPage)"
      // How many models others have joined is not for a member.
      let words = pages[page]?.view == nil ? all : "the gateway has no room for another model"
      sendText(to: page, PageText.error(.tooManyTopics, words, model: id), &output)
      return false
    }
    return true
  }

  /// Begins to serve a page a model.
  mutating func enter(_ id: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    models.rooms[id, default: Room()].pages.insert(page)
    models.rooms[id]?.emptySince = nil
    if id == OwnModel.id {
      if own.version == 0 { askStatus(&output) }
    } else {
      models.join(id, now: now)
    }
    touched.insert(id)
  }

  private mutating func leave(_ model: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    guard let membership = pages[page]?.joins.removeValue(forKey: model) else { return }
    leaveRoom(model, page, now: now)
    guard let topic = membership.topic else { return }
    pages[page]?.topics[topic] = nil
    send(.leave(Leave(topics: [topic])), for: page, now: now, &output)
  }

  mutating func leaveRoom(_ model: String, _ page: PageID, now: UInt64) {
    models.rooms[model]?.pages.remove(page)
    guard models.rooms[model]?.pages.isEmpty == true, feed.followed[model] == nil else { return }
    models.rooms[model]?.emptySince = now
  }

  private mutating func joinPrefix(
    _ prefix: String, _ page: PageID, now: UInt64, _ output: inout GatewayOutput
  ) {
    guard (pages[page]?.prefixes.count ?? 0) < options.maxPrefixesPerPage else {
      counters.joinsRefused += 1
      let words = "this page has joined \(options.maxPrefixesPerPage) prefixes, the limit"
      return sendText(to: page, PageText.error(.overLimit, words, prefix: prefix), &output)
    }
    pages[page]?.prefixes.insert(prefix)
    guard pages[page]?.view == nil else { return askForPrefix(prefix, isForPage: true, page, now: now, &output) }
    if listings[prefix] == nil {
      listings[prefix] = Listing()
      models.session.joinPrefix(prefix, now: now, into: &models.effects)
    }
    listings[prefix]?.pages.insert(page)
    guard let listing = listings[prefix], listing.isComplete else { return }
    let models = listing.models.values.sorted { $0.id < $1.id }
    for text in Gateway.announcements(prefix, models, isComplete: true) { sendText(to: page, text, &output) }
  }

  /// Splits a listing into messages of bounded size.
  static func announcements(_ prefix: String, _ models: [Announced], isComplete: Bool) -> [[UInt8]] {
    var texts: [[UInt8]] = []
    var rest = models[...]
    repeat {
      let part = rest.prefix(500)
      rest = rest.dropFirst(500)
      texts.append(PageText.announce(prefix, isComplete: isComplete && rest.isEmpty, part))
    } while !rest.isEmpty
    return texts
  }

  // MARK: Writing

  /// Models that pages read without joining them at the hub. The hub does not know of these joins, so the gateway
  /// refuses writes itself.
  static func isReadOnly(_ model: String) -> Bool { model == OwnModel.id || Names.isEphemeral(model) }

  private mutating func pass(
    _ proposal: PageProposal, _ page: PageID, now: UInt64, _ output: inout GatewayOutput
  ) {
    let membership = pages[page]?.joins[proposal.model]
    if Gateway.isReadOnly(proposal.model), let membership {
      let refusal = Refusal(.notPermitted, "a page can only read \(proposal.model)")
      let outcome = WireOutcome(topic: 0, number: proposal.proposal.number, .refused(refusal))
      return sendText(to: page, PageText.outcomes(proposal.model, membership.epoch, [outcome]), &output)
    }
    guard let membership, let topic = membership.topic, !membership.owesAnswer else {
      counters.notJoined += 1
      let words = "\(proposal.model) is not joined, or the join has no answer yet"
      return sendText(to: page, PageText.error(.notJoined, words, model: proposal.model), &output)
    }
    counters.proposals += 1
    var numbered = proposal.proposal
    numbered.topic = topic
    send(.propose([numbered]), for: page, now: now, &output)
  }
}
