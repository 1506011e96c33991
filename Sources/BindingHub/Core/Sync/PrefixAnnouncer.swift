import BindingProtocol

/// Models below a prefix. A peer that joins the prefix is told the existing models, and later ones with their first
/// commit.
struct PrefixAnnouncer {
  /// The models still to be checked for a session that joined a prefix.
  private struct Share {
    let session: SessionID
    let prefix: String
    let request: UInt32
    var rest: Range<Int>
  }
  private var shares: [Share] = []
  /// The same, of a log that several hubs share.
  var listings = SharedListings()

  /// The most models that a turn checks, and that it announces: a thousand of the longest ids fit into a frame.
  private static let modelsLookedAt = 4_096
  static let modelsAnnounced = 512

  var isEmpty: Bool { shares.isEmpty }

  /// Whether another turn would announce more.
  func isStreaming(_ congested: CongestedConnections, _ sessions: SessionTable) -> Bool {
    for share in shares where !congested.contains(share.session, sessions) { return true }
    return false
  }

  mutating func join(_ join: Join, _ session: SessionID, _ hub: inout HubContext, _ output: inout HubOutput) {
    guard PrefixAnnouncer.admit(join, session, &hub, &output) else { return }
    shares.removeAll { $0.session == session && $0.prefix == join.name }
    shares.append(Share(session: session, prefix: join.name, request: join.request, rest: hub.models.indices))
  }

  /// Records that a session has joined a prefix.
  /// - Returns: whether it may join another one; otherwise it is told so.
  static func admit(
    _ join: Join, _ session: SessionID, _ hub: inout HubContext, _ output: inout HubOutput
  ) -> Bool {
    guard let record = hub.sessions[session] else { return false }
    let limit = hub.configuration.limits.maxTopics
    guard record.prefixes[join.name] != nil || record.prefixes.count < limit else {
      hub.counters.topicsRefused += 1
      hub.error(
        .tooManyTopics, "\(record.prefixes.count) prefixes are joined; maxTopics is \(limit)",
        session, record.connection, isFatal: false, &output)
      return false
    }
    hub.sessions.with(session) { $0.prefixes[join.name] = join.request }
    hub.sessions.withPrefixes.insert(session)
    return true
  }

  mutating func forget(_ session: SessionID) {
    shares.removeAll { $0.session == session }
    listings.forget(session)
  }

  /// Announces one turn's share, beginning with the sessions that have waited longest.
  mutating func announceShare(_ congested: CongestedConnections, _ hub: inout HubContext, _ output: inout HubOutput) {
    var left = PrefixAnnouncer.modelsAnnounced
    for _ in shares.indices where left > 0 {
      var share = shares.removeFirst()
      guard !congested.contains(share.session, hub.sessions) else {
        shares.append(share)
        continue
      }
      left -= announce(&share, atMost: left, &hub, &output)
      if !share.rest.isEmpty { shares.append(share) }
    }
  }

  /// - Returns: the number of announced models.
  private func announce(
    _ share: inout Share, atMost most: Int, _ hub: inout HubContext, _ output: inout HubOutput
  ) -> Int {
    var found: [ModelLog] = []
    guard let connection = hub.sessions[share.session]?.connection else {
      share.rest = share.rest.upperBound..<share.rest.upperBound
      return 0
    }
    let user = hub.access.rights(in: share.session, on: connection)
    for index in share.rest.prefix(PrefixAnnouncer.modelsLookedAt) where found.count < most {
      share.rest = (index + 1)..<share.rest.upperBound
      let model = hub.models[index]
      if model.position.hasCommits, model.ephemeral == nil, model.id.hasPrefix(share.prefix), user.mayRead(model.id) {
        found.append(model)
      }
    }
    // The last message is marked as the last.
    if !found.isEmpty || share.rest.isEmpty {
      announce(found, to: share.session, share.request, isComplete: share.rest.isEmpty, &hub, &output)
    }
    return found.count
  }

  func announce(
    _ models: [ModelLog], to session: SessionID, _ request: UInt32, isComplete: Bool, _ hub: inout HubContext,
    _ output: inout HubOutput
  ) {
    let announced = models.map {
      AnnouncedModel(model: $0.id, topic: $0.topic, version: $0.version, fields: UInt32($0.fields.countedValues))
    }
    hub.send(
      .announce(Announce(session: session, request: request, isComplete: isComplete, models: announced)), to: session,
      &output)
  }

  /// Announces a model's first commit to the sessions that joined a prefix of its id.
  func announceFirstCommit(of model: ModelLog, _ hub: inout HubContext, _ output: inout HubOutput) {
    guard !model.members.hasFirstCommit, model.position.hasCommits, model.ephemeral == nil else { return }
    model.members.hasFirstCommit = true
    for id in hub.sessions.withPrefixes.sorted() where !listings.willName(model.id, to: id) {
      guard let session = hub.sessions[id], hub.access.rights(of: session).mayRead(model.id) else {
        continue
      }
      for (prefix, request) in session.prefixes.sorted(by: { $0.key < $1.key }) where model.id.hasPrefix(prefix) {
        announce([model], to: id, request, isComplete: false, &hub, &output)
      }
    }
  }
}
