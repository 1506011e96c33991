import BindingProtocol

/// A request to be notified when other peers have applied a version of a model.
struct Barrier {
  /// Who is notified.
  enum Asker: Hashable {
    /// A session of this hub; its barrier ends with one answer.
    case session(SessionID, request: UInt32)
    /// Another hub of the log, over the link to it, or the hub above an edge, for a barrier there. It is told each
    /// change, until it no longer asks.
    case hub(link: Int, request: UInt32)
  }

  let asker: Asker
  /// By which other hubs name it.
  let number: UInt32
  let version: Version
  /// The number of sessions that must have the version; nil: all that had joined the model at the request and are
  /// still there.
  let count: Int?
  var deadline: UInt64
  /// Sessions that had joined at the request and have not reported the version.
  var waiting: Set<SessionID> = []
  var applied: Set<SessionID> = []
  /// What siblings and edges have counted, by the session of each; nil: it has not answered yet.
  var elsewhere: [SessionID: AppliedCount?] = [:]
  /// Whether the peers of other hubs count too.
  let isOfAllHubs: Bool
  /// What the hub that asks was told last.
  var told: AppliedCount?

  init(
    of asker: Asker, number: UInt32, version: Version, count: Int?, deadline: UInt64, isOfAllHubs: Bool = false
  ) {
    self.asker = asker
    self.number = number
    self.version = version
    self.count = count
    self.deadline = deadline
    self.isOfAllHubs = isOfAllHubs
  }

  /// The session of this hub that waits; nil: it waits at another hub.
  var session: SessionID? {
    if case .session(let session, _) = asker { session } else { nil }
  }

  /// The number of sessions that have the version, at all hubs.
  var appliedInAll: Int { elsewhere.values.reduce(applied.count) { $0 + Int($1?.applied ?? 0) } }

  /// The number of sessions that count, at all hubs; at least one where a hub has not answered.
  var all: Int { elsewhere.values.reduce(waiting.count + applied.count) { $0 + Int($1?.of ?? 1) } }

  /// The number of sessions that it waits for.
  var wanted: Int { count ?? all }

  /// Whether it is over.
  /// - Parameter lacksHub: whether this hub reaches a sibling that has no session here, and may have peers.
  func isComplete(lacksHub: Bool) -> Bool {
    if let count { return appliedInAll >= count }
    return waiting.isEmpty && !(isOfAllHubs && lacksHub)
      && elsewhere.values.allSatisfy { $0.map { $0.applied >= $0.of } ?? false }
  }

  /// What the hub that asks is to be told; nil: it knows.
  func news(_ hub: HubContext) -> (link: Int, count: AppliedCount)? {
    guard case .hub(let link, let request) = asker else { return nil }
    let (applied, all) = (UInt32(clamping: appliedInAll), UInt32(clamping: all))
    guard told?.applied != applied || told?.of != all else { return nil }
    return (link, AppliedCount(request: request, applied: applied, of: all, missing: missing(hub)))
  }

  /// The names of those that have not applied the version; of a hub that has not answered, its own.
  func missing(_ hub: HubContext, lacksHub: Bool = false) -> [String] {
    func name(_ session: SessionID) -> String? { hub.sessions[session]?.identity.name }
    let away = elsewhere.sorted { $0.key < $1.key }
    let names = waiting.sorted().compactMap(name) + away.flatMap { $1?.missing ?? [name($0)].compactMap(\.self) }
    return Array((names + (isOfAllHubs && lacksHub ? ["a hub without a link to this one"] : [])).prefix(255))
  }
}
