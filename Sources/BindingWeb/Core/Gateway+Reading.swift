import BindingPeer
import BindingProtocol

extension Gateway {
  /// Carries out the effects of the reading session, which keeps no outbox and makes no writes.
  mutating func settle(now: UInt64, _ output: inout GatewayOutput) {
    // Carrying out an effect may add more.
    while !models.effects.isEmpty {
      let effects = models.effects
      models.effects.removeAll()
      for action in effects.link { settle(action, now: now, &output) }
      for update in effects.updates {
        feed.add(update, from: models.session, now: now)
        handle(update, &output)
      }
      for event in effects.events { settle(event, now: now, &output) }
    }
  }

  private mutating func settle(_ action: LinkAction, now: UInt64, _ output: inout GatewayOutput) {
    switch action {
    case .open(let pause):
      endSessions(now: now, &output)
      output.add(.open(afterMilliseconds: pause))
    case .send(let frame): output.add(.send(frame))
    case .listen(let topic, _):
      output.add(.subscribe(topic))
      output.add(.subscribe(Topics.bytes(Topics.heartbeat)))
    case .subscribe(let topic): output.add(.subscribe(Topics.bytes(topic)))
    case .unsubscribe(let topic): output.add(.unsubscribe(Topics.bytes(topic)))
    case .learn, .remember: break
    case .close: output.add(.close)
    }
  }

  private mutating func settle(_ event: SessionEvent, now: UInt64, _ output: inout GatewayOutput) {
    switch event {
    case .announced(let prefix, let model, let version, let fields):
      announce(Announced(id: model, version: version, fields: fields), below: prefix, &output)
    case .listed(let prefix): list(prefix, &output)
    case .phase(.live):
      for (page, record) in pages.sorted(by: { $0.key < $1.key }) {
        if case .waiting = record.phase { greet(page, now: now, &output) }
      }
    case .notice(let notice): output.add(.log("\(notice)"))
    case .phase, .awaited, .past, .pong: break
    }
  }

  /// The hub connection is lost, and with it every page's session. Pages reconnect and rejoin from the versions
  /// they have.
  private mutating func endSessions(now: UInt64, _ output: inout GatewayOutput) {
    for (page, record) in pages.sorted(by: { $0.key < $1.key }) where record.session != 0 {
      counters.hubLosses += 1
      end(page, 1012, "the hub has stopped", now: now, &output)
    }
    for prefix in listings.keys {
      listings[prefix]?.isComplete = false
      listings[prefix]?.models.removeAll()
    }
  }

  // MARK: Prefixes

  private mutating func announce(_ model: Announced, below prefix: String, _ output: inout GatewayOutput) {
    guard listings[prefix]?.models.updateValue(model, forKey: model.id) == nil, let listing = listings[prefix],
      listing.isComplete
    else { return }
    let text = PageText.announce(prefix, isComplete: true, CollectionOfOne(model))
    for page in listing.pages.sorted() { sendText(to: page, text, &output) }
  }

  private mutating func list(_ prefix: String, _ output: inout GatewayOutput) {
    listings[prefix]?.isComplete = true
    guard let listing = listings[prefix] else { return }
    let models = listing.models.values.sorted { $0.id < $1.id }
    let texts = Gateway.announcements(prefix, models, isComplete: true)
    for page in listing.pages.sorted() { for text in texts { sendText(to: page, text, &output) } }
  }

  // MARK: Commits

  private mutating func handle(_ update: ModelUpdate, _ output: inout GatewayOutput) {
    let model = update.model
    touched.insert(model)
    guard let room = models.rooms[model] else { return }
    for commit in update.commits {
      if let page = byTag[commit.origin.tag] { raiseLastDecided(of: page, in: model, to: commit.number) }
    }
    if case .commits = update.cause, update.coalesced == 0 {
      return pass(update.commits, of: model, update.epoch, &output)
    }
    // Pages show what is committed.
    guard update.cause != .expired else { return }
    guard update.cause != .outcome || !update.changes.isEmpty || !update.commits.isEmpty else { return }
    if update.cause == .snapshot || update.cause == .detached { models.rooms[model]?.deltasFrom = update.version }
    // A coalesced update may contain commits of pages; only the hub knows their last decided numbers (R5).
    for page in room.pages where pages[page]?.joins[model]?.isCurrent == true {
      pages[page]?.joins[model]?.progress = .waiting
    }
  }

  /// Sends commits to the pages at the preceding version; the other pages are caught up later.
  mutating func pass(_ commits: [CommitInfo], of model: String, _ epoch: Epoch, _ output: inout GatewayOutput) {
    // A followed model may have no pages left: then nothing is written.
    guard let room = models.rooms[model], !room.pages.isEmpty, let first = commits.first, let last = commits.last,
      let text = PageText.commits(model, epoch, commits)
    else { return }
    for page in room.pages.sorted() {
      guard let record = pages[page], let membership = record.joins[model], membership.isCurrent, !record.isBusy,
        membership.epoch == epoch, membership.version >= first.version - 1, membership.version < last.version
      else { continue }
      pages[page]?.joins[model]?.version = last.version
      sendText(to: page, text, &output)
    }
  }

  // MARK: Catching up

  /// Advances every page in a model as far as possible.
  mutating func getOn(in model: String, now: UInt64, _ output: inout GatewayOutput) {
    guard let room = models.rooms[model] else { return }
    guard model == OwnModel.id ? own.version > 0 : models.session.isCurrent(model) else { return }
    for page in room.pages.sorted() { getOn(page, in: model, now: now, &output) }
  }

  private mutating func getOn(_ page: PageID, in model: String, now: UInt64, _ output: inout GatewayOutput) {
    guard let record = pages[page], let membership = record.joins[model] else { return }
    switch membership.progress {
    case .waiting where Gateway.isReadOnly(model):
      pages[page]?.joins[model]?.progress = .current
      catchUp(page, in: model, &output)
    case .waiting:
      lastRequest += 1
      pages[page]?.joins[model]?.progress = .asked(request: lastRequest, at: now)
      let (epoch, version) = models.session.version(of: model)
      let join = Join(
        request: lastRequest, model: model, epoch: epoch, version: version, namesKnown: .max,
        unacknowledged: membership.unacknowledged)
      send(.join([join]), for: page, now: now, &output)
    case .answered(let epoch, let version):
      let (here, known) = models.session.version(of: model)
      guard here == epoch, known >= version else { return }
      pages[page]?.joins[model]?.progress = .current
      catchUp(page, in: model, &output)
    case .current: catchUp(page, in: model, &output)
    case .asked: break
    }
  }

  /// Sends a page the changes it is missing of a model, in one catch-up.
  private mutating func catchUp(_ page: PageID, in model: String, _ output: inout GatewayOutput) {
    guard let record = pages[page], let room = models.rooms[model], let membership = record.joins[model],
      membership.isCurrent, !record.isBusy
    else { return }
    let (epoch, version) = model == OwnModel.id ? (own.epoch, own.version) : models.session.version(of: model)
    let isSameEpoch = membership.epoch == epoch && membership.version <= version
    guard membership.owesAnswer || !isSameEpoch || membership.version < version else { return }
    let isNothingMissing = isSameEpoch && membership.version == version || version == 0 && membership.version == 0
    let isDelta = isSameEpoch && membership.version > 0 && membership.version >= room.deltasFrom
    let previous = isNothingMissing ? version : isDelta ? membership.version : 0
    let fields =
      isNothingMissing
      ? [] : model == OwnModel.id ? own.committed(after: previous) : models.session.committed(model, after: previous)
    counters.catchups += 1
    if !membership.owesAnswer { counters.coalescedCommits += version - min(previous, version) }
    let texts = PageText.catchup(
      model, form: isNothingMissing ? "none" : isDelta ? "delta" : "snapshot", epoch: epoch, from: previous,
      to: version,
      lastDecided: membership.lastDecided, fields: fields, chunkBytes: options.chunkBytes)
    pages[page]?.joins[model]?.epoch = epoch
    pages[page]?.joins[model]?.version = version
    pages[page]?.joins[model]?.owesAnswer = false
    pages[page]?.queue = texts
    sendQueued(page, &output)
  }

  /// Sends part of a page's queue.
  private mutating func sendQueued(_ page: PageID, _ output: inout GatewayOutput) {
    var bytes = 0
    let taken = (pages[page]?.queue ?? []).prefix { text in
      defer { bytes += text.count }
      return bytes < 4 * options.chunkBytes
    }
    pages[page]?.queue.removeFirst(taken.count)
    for text in taken { sendText(to: page, text, &output) }
  }

  /// Continues with a page that was busy: first its queue, then, if there is still room, the changes it missed.
  mutating func goOn(_ page: PageID, _ output: inout GatewayOutput) {
    guard let record = pages[page], !record.isFull else { return }
    sendQueued(page, &output)
    // In the order of names, so that equal histories produce equal output.
    for model in record.joins.keys.sorted() where pages[page]?.isBusy == false {
      if pages[page]?.joins[model]?.isCurrent == true { catchUp(page, in: model, &output) }
    }
  }
}
