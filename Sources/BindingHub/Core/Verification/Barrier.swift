import BindingProtocol

/// A request to be notified when other peers have applied a version of a model.
struct Barrier {
  /// Who is notified.
  enum Asker: Hashable {
    /// A session of this hub; its barrier ends with one answer.
    case session(SessionID, request: UInt32)
    /// Another hub of the log, over the link to it, for a barrier there. It is told each change, until it no longer
    /// asks.
    case sibling(link: Int, request: UInt32)
  }

  let asker: Asker
  /// By which siblings name it.
  let number: UInt32
  let version: Version
  /// The number of sessions that must have the version; nil: all that had joined the model at the request and are
  /// still there.
  let count: Int?
  var deadline: UInt64
  /// Sessions that had joined at the request and have not reported the version.
  var waiting: Set<SessionID>
  var applied: Set<SessionID> = []
  /// What siblings have counted, by the session of each; nil: it has not answered yet.
  var elsewhere: [SessionID: AppliedCount?] = [:]
  /// Whether the peers of other hubs count too.
  let isOfAllHubs: Bool
  /// What the sibling that asks was told last.
  var told: AppliedCount?

  init(
    of asker: Asker, number: UInt32, version: Version, count: Int?, deadline: UInt64, waiting: Set<SessionID>,
    isOfAllHubs: Bool = false
  ) {
    self.asker = asker
    self.number = number
    self.version = version
    self.count = count
    self.deadline = deadline
    self.waiting = waiting
    self.isOfAllHubs = isOfAllHubs
  }

  /// The session of this hub that waits; nil: it waits at a sibling.
  var session: SessionID? {
    if case .session(let session, _) = asker { session } else { nil }
  }

  /// The number of sessions that have the version, at all hubs.
  var appliedInAll: Int { elsewhere.values.reduce(applied.count) { $0 + Int($1?.applied ?? 0) } }

  /// The number of sessions that it waits for.
  var wanted: Int {
    count ?? elsewhere.values.reduce(waiting.count + applied.count) { $0 + Int($1?.of ?? 0) }
  }

  /// Whether it is over.
  /// - Parameter reached: the number of siblings that this hub reaches. Each of them has peers to count.
  func isComplete(siblings reached: Int) -> Bool {
    if let count { return appliedInAll >= count }
    return waiting.isEmpty && !misses(siblings: reached)
      && elsewhere.values.allSatisfy { $0.map { $0.applied >= $0.of } ?? false }
  }

  /// Whether a sibling that this hub reaches does not reach it.
  private func misses(siblings reached: Int) -> Bool { isOfAllHubs && elsewhere.count < reached }

  /// The names of those that have not applied the version; of a sibling that has not answered, its own.
  func missing(_ hub: HubContext, siblings reached: Int = 0) -> [String] {
    func name(_ session: SessionID) -> String? { hub.sessions[session]?.identity.name }
    let away = elsewhere.sorted { $0.key < $1.key }
    let names = waiting.sorted().compactMap(name) + away.flatMap { $1?.missing ?? [name($0)].compactMap(\.self) }
    return Array((names + (misses(siblings: reached) ? ["a hub without a link to this one"] : [])).prefix(255))
  }
}
