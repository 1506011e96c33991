import BindingProtocol

/// What the other hubs of a shared log have in ephemeral models (protocol.md §17.2).
///
/// An ephemeral value belongs to one peer, and a peer is at one hub. So the hubs need no order among them: each has a
/// *part* of an ephemeral model, what its own peers have in it, and follows the parts of its siblings. What its peers
/// see is all parts together.
struct SiblingParts {
  /// A sibling's value of a field.
  struct Value {
    var value: FieldValue
    var origin: Origin
    /// When it was written, by the wall clock of the sibling.
    var time: UInt64

    /// Whether it is shown where another value of the field is there too: the lower tag has claimed the field; of one
    /// peer, which has gone from hub to hub, the later value counts.
    func precedes(_ other: Value) -> Bool { precedes(other.origin.tag, other.time) }

    func precedes(_ tag: Tag, _ time: UInt64) -> Bool {
      origin.tag == tag ? self.time > time : origin.tag < tag
    }
  }

  /// The link to a sibling.
  struct Link {
    /// For the uplink, in order.
    var requests: [UplinkRequest] = []
    /// What it has, by the name of the ephemeral model and the field.
    fileprivate(set) var parts: [String: [String: Value]] = [:]
    /// The followed models of which all is here that it has.
    fileprivate(set) var complete: Set<String> = []
    fileprivate(set) var isOpen = false
    /// Since when it is lost, on the monotonic clock; nil: it is open, or was never.
    fileprivate(set) var lostAt: UInt64?
    /// Whether it is lost for so long that its peers count as gone.
    fileprivate(set) var isSilent = false
    /// Whether the hub there keeps another log.
    fileprivate(set) var isStranger = false
    /// The number of its start; nil: it decides nothing that is passed on.
    fileprivate(set) var homeStart: StartNumber?
    /// Whether it asks the owners of models.
    fileprivate(set) var asksOwners = false
    /// Whether a hub of this log can be reached over it.
    var isReached: Bool { isOpen && !isStranger }
  }

  private(set) var links: [Link]
  /// The ephemeral models that are followed.
  private(set) var followed: [String: Following] = [:]

  struct Following {
    /// Since when it is followed, on the monotonic clock.
    let since: UInt64
    /// Since when no session here has joined it, on the monotonic clock.
    fileprivate(set) var unusedSince: UInt64?
  }

  /// An ephemeral model is followed for so long after its last session here has left.
  static let lingerMilliseconds: UInt64 = 5_000
  /// A join waits for what siblings have, at most so long.
  static let waitMilliseconds: UInt64 = 1_000

  init(count: Int = 0) { links = Array(repeating: Link(), count: count) }

  var isEmpty: Bool { links.isEmpty }

  /// The number of siblings that this hub reaches.
  var reachedCount: Int { links.count(where: \.isReached) }

  mutating func takeRequests(of link: Int) -> [UplinkRequest] {
    guard !links[link].requests.isEmpty else { return [] }
    defer { links[link].requests.removeAll() }
    return links[link].requests
  }

  // MARK: Following

  /// A session here has joined an ephemeral model.
  mutating func follow(_ model: String, now: UInt64) {
    guard followed[model] == nil else {
      followed[model]?.unusedSince = nil
      return
    }
    followed[model] = Following(since: now)
    for link in links.indices { links[link].requests.append(.follow(model)) }
  }

  /// Whether a join of a model may be answered: what the siblings have that can be reached is here.
  func mayAnswer(_ model: String, now: UInt64) -> Bool {
    guard let following = followed[model], now < following.since + SiblingParts.waitMilliseconds else { return true }
    return links.allSatisfy { !$0.isReached || $0.complete.contains(model) }
  }

  /// All is here that a sibling has in a model, or it does not let this hub read it.
  mutating func complete(_ model: String, of link: Int) { links[link].complete.insert(model) }

  /// No session here has joined it.
  /// - Returns: whether that has been so for long enough.
  mutating func isUnused(_ model: String, now: UInt64) -> Bool {
    let since = followed[model]?.unusedSince ?? now
    followed[model]?.unusedSince = since
    return now >= since + SiblingParts.lingerMilliseconds
  }

  /// - Returns: the fields that some sibling had there.
  mutating func unfollow(_ model: String) -> Set<String> {
    followed[model] = nil
    var fields: Set<String> = []
    for link in links.indices {
      links[link].requests.append(.unfollow(model))
      links[link].complete.remove(model)
      fields.formUnion((links[link].parts.removeValue(forKey: model) ?? [:]).keys)
    }
    return fields
  }

  // MARK: What they have

  /// The value of a field to show; nil: no sibling has one.
  func value(of field: String, in model: String) -> Value? {
    var first: Value?
    for link in links where !link.isSilent {
      guard let value = link.parts[model]?[field] else { continue }
      if first.map({ value.precedes($0) }) ?? true { first = value }
    }
    return first
  }

  /// The peers that are present at siblings, each as the hub describes it where it was last.
  func peers(in model: String) -> [Tag: FieldValue] {
    var latest: [Tag: Value] = [:]
    for link in links where !link.isSilent {
      for (field, value) in link.parts[model] ?? [:] where field.hasPrefix(Names.presencePrefix) {
        guard let tag = EphemeralState.Slot(value.value)?.tag else { continue }
        if latest[tag].map({ $0.time < value.time }) ?? true { latest[tag] = value }
      }
    }
    return latest.mapValues(\.value)
  }

  /// A sibling has a value of a field, or has it no more. Of the fields that belong to the protocol only presence and
  /// the owner are shared.
  mutating func set(_ field: String, in model: String, to value: Value?, of link: Int) {
    guard followed[model] != nil, !links[link].isStranger,
      !field.hasPrefix("@") || field.hasPrefix(Names.presencePrefix) || field == Names.owner
    else { return }
    links[link].parts[model, default: [:]][field] = value
  }

  /// - Returns: the fields that a sibling has in a model.
  func fields(in model: String, of link: Int) -> Set<String> { Set((links[link].parts[model] ?? [:]).keys) }

  /// How many values siblings have in all.
  var count: Int { links.reduce(0) { $0 + $1.parts.values.reduce(0) { $0 + $1.count } } }

  // MARK: Links

  /// A sibling answers.
  /// - Parameters:
  ///   - isStranger: whether it keeps another log.
  ///   - homeStart: the number of its start; nil: it decides nothing that is passed on.
  ///   - asksOwners: whether it asks the owners of models.
  /// - Returns: the fields that are to be shown, or no longer, by model.
  mutating func reached(
    _ link: Int, isStranger: Bool, homeStart: StartNumber? = nil, asksOwners: Bool = false
  ) -> [String: Set<String>] {
    (links[link].homeStart, links[link].asksOwners) = (homeStart, asksOwners)
    let isChanged = links[link].isSilent || isStranger
    defer { if isStranger { links[link].parts.removeAll() } }
    (links[link].lostAt, links[link].isSilent, links[link].isStranger) = (nil, false, isStranger)
    links[link].isOpen = true
    return isChanged ? fields(of: link) : [:]
  }

  mutating func lost(_ link: Int, now: UInt64) {
    links[link].isOpen = false
    if links[link].lostAt == nil { links[link].lostAt = now }
  }

  /// The peers of siblings that are lost for as long as a session may be silent count as gone.
  /// - Returns: their fields, by model.
  mutating func silence(lease: UInt64, now: UInt64) -> [String: Set<String>] {
    var gone: [String: Set<String>] = [:]
    for link in links.indices {
      guard !links[link].isSilent, let lostAt = links[link].lostAt, now >= lostAt + lease else { continue }
      links[link].isSilent = true
      gone.merge(fields(of: link)) { $0.union($1) }
    }
    return gone
  }

  // MARK: Telling them

  /// Passes proposals on.
  mutating func forward(_ proposals: [ForwardedProposals], over link: Int) {
    links[link].requests += proposals.map { .forward($0) }
  }

  /// Tells siblings how many peers here have applied a version.
  mutating func tell(_ counted: [(link: Int, count: AppliedCount)]) {
    for (link, count) in counted { links[link].requests.append(.counted(count)) }
  }

  private func fields(of link: Int) -> [String: Set<String>] { links[link].parts.mapValues { Set($0.keys) } }
}

extension HubMachine {
  /// Makes this hub follow siblings, so many. Must precede every other call.
  package mutating func follow(siblings count: Int) {
    siblings = SiblingParts(count: count)
    learnWhoAsks()
  }

  /// Hands over what the link to a sibling is to do.
  package mutating func takeRequests(ofSibling link: Int) -> [UplinkRequest] { siblings.takeRequests(of: link) }

  /// Handles what the link to a sibling tells.
  package mutating func handle(
    _ event: UplinkEvent, ofSibling link: Int, time: HubTime, into output: inout HubOutput
  ) {
    switch event {
    case .reached(let sibling):
      let isStranger = sibling.logID != hub.logID
      if isStranger { output.notices.append(.otherLog(hub: sibling.name)) }
      let start = sibling.capabilities.contains(Capability.forward) ? sibling.start : nil
      let asksOwners = start != nil && sibling.capabilities.contains(Capability.owners)
      let changed = siblings.reached(link, isStranger: isStranger, homeStart: start, asksOwners: asksOwners)
      learnWhoAsks()
      leaveFormerHomes(time)
      publisher.barriers.forget(link: link)
      siblings.show(changed, presence, &hub, time)
    case .cut:
      siblings.lost(link, now: time.monotonic)
      learnWhoAsks()
      endHomes(over: link, time, &output)
    case .commits(let commits): siblings.take(commits, of: link, presence, &hub, time)
    case .fields(let fields): siblings.take(fields, of: link, presence, &hub, time)
    case .unreadable(let model, _):
      siblings.drop(model, of: link, presence, &hub, time)
      siblings.complete(model, of: link)
      if let index = hub.models.index(named: model) { hub.models.touch(index) }
    case .complete(let model):
      siblings.complete(model, of: link)
      if let index = hub.models.index(named: model) { hub.models.touch(index) }
    case .counts(let question) where siblings.links[link].isStranger:
      siblings.tell([(link, AppliedCount(request: question.request, applied: 0, of: 0))])
    case .counts(let question): publisher.barriers.count(question, over: link, &hub, time, &output)
    case .awaited, .past, .caughtUp, .welcomed, .joined, .refused, .outcomes, .approve, .ended, .announced, .listed:
      break
    }
  }

  /// What a hub keeps for ephemeral models, which comes back to nothing once nobody has joined one.
  package struct EphemeralCounts: Hashable, Sendable {
    /// Ephemeral models and this hub's parts of them.
    package var models = 0
    /// Ephemeral models that it follows at siblings.
    package var followed = 0
    /// Values of siblings.
    package var values = 0

    package static let zero = EphemeralCounts()
  }

  package var ephemeralCounts: EphemeralCounts {
    EphemeralCounts(
      models: hub.models.lazy.filter { $0.ephemeral != nil }.count, followed: siblings.followed.count,
      values: siblings.count)
  }
}
