import BindingProtocol

/// The models below a prefix, for a session that has joined it: the store lists them page by page, and each page is
/// announced once its models are loaded.
struct SharedListing {
  let session: SessionID
  let prefix: String
  let request: UInt32
  /// The model after which the next page begins.
  var after = ""
  /// The present page; nil: the store is still to be asked for it, or to answer.
  var page: [String]?
  var isLast = false
}

/// The listings of a hub, in order. The store reads one page at a time.
struct SharedListings {
  private(set) var waiting: [SharedListing] = []
  /// Whether the store reads a page, and whether it is that of the first listing.
  private var (isReading, isMeant) = (false, false)

  /// Puts a session's listing of a prefix last, instead of one before.
  mutating func add(_ listing: SharedListing) {
    forget(listing.session, below: listing.prefix)
    waiting.append(listing)
  }

  /// Forgets a session's listings, or that of one prefix.
  mutating func forget(_ session: SessionID, below prefix: String? = nil) {
    let first = waiting.first
    waiting.removeAll { $0.session == session && (prefix == nil || $0.prefix == prefix) }
    if first?.session != waiting.first?.session || first?.request != waiting.first?.request { isMeant = false }
  }

  /// - Returns: the listing whose next page the store is to read now; nil: none.
  mutating func nextToRead() -> SharedListing? {
    guard !isReading, let first = waiting.first, first.page == nil else { return nil }
    (isReading, isMeant) = (true, true)
    return first
  }

  /// The store has read a page.
  /// - Returns: its models below the prefix, unless nobody waits for them any more.
  mutating func read(_ heads: [SharedHead], isLast: Bool) -> [String] {
    defer { (isReading, isMeant) = (false, false) }
    guard isMeant, var listing = waiting.first else { return [] }
    let page = heads.filter { !$0.isRemoved && $0.model.hasPrefix(listing.prefix) }.map(\.model)
    (listing.page, listing.after, listing.isLast) = (page, heads.last?.model ?? listing.after, isLast)
    waiting[0] = listing
    return page
  }

  /// Whether a session's listing will name a model that is here by now. What the store reads at this moment may be
  /// older.
  func willName(_ model: String, to session: SessionID) -> Bool {
    waiting.indices.contains { place in
      let listing = waiting[place]
      guard listing.session == session, model.hasPrefix(listing.prefix) else { return false }
      if listing.page?.contains(model) == true { return true }
      return model > listing.after && !listing.isLast && !(place == 0 && isReading)
    }
  }

  /// Puts the first listing last: its page waits until its session reads again.
  mutating func putOff() { waiting.append(waiting.removeFirst()) }

  /// The first listing's page is announced.
  mutating func endPage() {
    if waiting[0].isLast { waiting.removeFirst() } else { waiting[0].page = nil }
  }
}

extension HubMachine {
  /// A session joins a prefix.
  mutating func joinShared(_ join: Join, _ session: SessionID, _ output: inout HubOutput) {
    guard PrefixAnnouncer.admit(join, session, &hub, &output) else { return }
    publisher.announcer.listings.add(SharedListing(session: session, prefix: join.name, request: join.request))
  }

  /// Whether a session here has joined a prefix of this id.
  func isWatched(_ model: String) -> Bool {
    hub.sessions.withPrefixes.contains { id in
      hub.sessions[id]?.prefixes.keys.contains { model.hasPrefix($0) } == true
    }
  }

  /// The store has listed a page.
  mutating func listed(_ heads: [SharedHead], _ isLast: Bool, _ output: inout HubOutput) {
    for model in publisher.announcer.listings.read(heads, isLast: isLast) where hub.models.index(named: model) == nil {
      load(hub.models.make(model, from: .none), &output)
    }
  }

  /// Announces the pages whose models are all here, and has the next one read.
  mutating func announceListed(_ output: inout HubOutput) {
    for _ in publisher.announcer.listings.waiting {
      guard let listing = publisher.announcer.listings.waiting.first, listing.page != nil else { break }
      if !isListingDue { publisher.announcer.listings.putOff() }
    }
    while isListingDue, let listing = publisher.announcer.listings.waiting.first, let page = listing.page {
      announce(page, listing, &output)
      publisher.announcer.listings.endPage()
    }
    if let next = publisher.announcer.listings.nextToRead() {
      output.list = .init(prefix: next.prefix, after: next.after)
    }
  }

  private mutating func announce(_ page: [String], _ listing: SharedListing, _ output: inout HubOutput) {
    guard let connection = hub.sessions[listing.session]?.connection else { return }
    let user = hub.access.rights(in: listing.session, on: connection)
    var rest = page.compactMap { hub.models.index(named: $0) }.map { hub.models[$0] }
      .filter { $0.position.hasCommits && user.mayRead($0.id) }[...]
    while !rest.isEmpty || listing.isLast {
      let part = rest.prefix(PrefixAnnouncer.modelsAnnounced)
      rest = rest.dropFirst(part.count)
      let isComplete = listing.isLast && rest.isEmpty
      publisher.announcer.announce(
        Array(part), to: listing.session, listing.request, isComplete: isComplete, &hub, &output)
      if isComplete { return }
    }
  }

  /// Whether the first listing has a page that is loaded, and its session reads what it is sent.
  var isListingDue: Bool {
    guard let listing = publisher.announcer.listings.waiting.first, let page = listing.page else { return false }
    return !publisher.congested.contains(listing.session, hub.sessions) && !page.contains(where: isLoading)
  }

  private func isLoading(_ model: String) -> Bool {
    hub.models.index(named: model).map { hub.models[$0].position.tail == nil } ?? false
  }
}
