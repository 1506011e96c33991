import BindingProtocol

/// What makes a hub an edge: it decides nothing. Its models follow those of an upstream hub, and proposals go there.
struct EdgeState {
  /// Where the upstream hub is, for people.
  let address: String
  /// Tells this edge from others, so that one which follows itself is noticed.
  let number: UInt64
  /// What the upstream hub said of itself last; nil: it was never reached.
  private(set) var upstream: UpstreamHub?
  /// Whether the uplink is open, and whether everything is as new as upstream.
  private(set) var isReached = false
  var isCaughtUp = false
  /// Why it is not open, if the upstream hub has said so.
  private(set) var reason: String?
  /// When it was reached or lost last, wall time.
  private var since: UInt64
  /// By their indices.
  var models: [Int: FollowedModel] = [:]
  var sessions: [SessionID: EdgeSession] = [:]
  /// Hellos of peers that were welcomed before: the upstream hub says whether it knows them.
  var hellos: [SessionID: (hello: Hello, connection: ConnectionID)] = [:]
  var listings: [String: EdgeListing] = [:]
  /// The edges that have said hello here: one of them may be this edge's upstream hub.
  private(set) var below: Set<UInt64> = []
  /// Whether the upstream hub names users in its messages, which older peers cannot read.
  var namesUsers = false
  /// The barriers of its peers, which the hub above holds, by the uplink's number.
  var awaits = PassedAwaits()
  /// For the uplink, in order.
  var requests: [UplinkRequest] = []

  /// The most hellos that wait for the upstream hub, and edges that are remembered.
  static let mostHellos = 4_096
  private static let mostBelow = 64
  private static let longestReason = 200
  /// How long a model is followed that no session has joined.
  static let lingerMilliseconds: UInt64 = 30_000

  init(address: String, number: UInt64, time: HubTime) {
    (self.address, self.number) = (address, number)
    since = time.wall
  }

  mutating func reach(_ upstream: UpstreamHub, _ time: HubTime) {
    if !isReached { since = time.wall }
    (self.upstream, isReached, reason) = (upstream, true, nil)
  }

  mutating func cut(_ reason: String?, _ time: HubTime) {
    if isReached { since = time.wall }
    (isReached, isCaughtUp) = (false, false)
    // That of another edge may hold the words of this one.
    self.reason = reason.map { String($0.prefix(EdgeState.longestReason)) } ?? self.reason
  }

  /// What peers are told that it cannot serve now.
  var words: String {
    "this edge waits for its upstream hub at \(address)" + (reason.map { ": \($0)" } ?? "")
  }

  /// Records the edges that a hello names.
  /// - Returns: whether this edge is one of them, so that it would follow itself.
  mutating func isRing(_ capabilities: [String]) -> Bool {
    for number in capabilities.lazy.compactMap(Capability.edgeNumber) {
      if number == self.number { return true }
      if below.count < EdgeState.mostBelow { below.insert(number) }
    }
    return false
  }

  mutating func unfollow(_ index: Int, _ model: String) {
    guard models.removeValue(forKey: index) != nil else { return }
    requests.append(.unfollow(model))
  }

  /// For `bindhub status`. A test pins the names.
  var json: JSON {
    .object([
      .init("address", .string(address)), .init("name", upstream.map { .string($0.name) } ?? .null),
      .init("state", .string(isCaughtUp ? "live" : "waiting")), .init("since", .integer(Int64(clamping: since))),
      .init("reason", reason.map { .string($0) } ?? .null), .init("models", .integer(Int64(models.count))),
      .init("writers", .integer(Int64(sessions.count { $0.value.isWriter }))),
    ])
  }
}

extension HubMachine {
  /// Makes this hub an edge of the hub at an address. Must precede every other call.
  /// - Parameter number: random; not 0.
  package mutating func follow(upstream address: String, as number: UInt64, time: HubTime) {
    edge = EdgeState(address: address, number: number, time: time)
    presence = PresenceTable(isUpstream: true)
  }

  /// Hands over what the uplink is to do.
  package mutating func takeRequests() -> [UplinkRequest] {
    guard edge?.requests.isEmpty == false else { return [] }
    defer { edge?.requests.removeAll() }
    return edge?.requests ?? []
  }

  /// The edges that have said hello here, and this one: what the uplink's hello names.
  package var edgesBelow: [UInt64] { edge.map { [$0.number] + $0.below.sorted() } ?? [] }

  // MARK: Hellos

  /// Whether a session may begin now. That of a peer which was welcomed before waits for the upstream hub.
  mutating func mayBegin(
    _ hello: Hello, _ id: SessionID, _ connection: ConnectionID, upstreamKnew: Bool?, _ output: inout HubOutput
  ) -> Bool {
    guard edge?.isRing(hello.capabilities) == false else {
      hub.error(
        .notPermitted, "this edge's upstream hub is the edge itself, or one of its edges", id, connection, &output)
      return false
    }
    let (wasReached, isReached, waiting) =
      edge.map { ($0.upstream != nil, $0.isReached, $0.hellos.count) } ?? (true, true, 0)
    guard wasReached, isReached || !hello.isResuming else {
      hub.error(.closing, edge?.words ?? "", id, connection, &output)
      return false
    }
    guard hello.isResuming, upstreamKnew == nil else { return true }
    guard waiting < EdgeState.mostHellos else {
      hub.error(.tooManySessions, "\(waiting) peers wait for the upstream hub", id, connection, &output)
      return false
    }
    edge?.hellos[id] = (hello, connection)
    edge?.requests.append(.greet(id, hello))
    return false
  }

  /// What an edge's welcome says: what the upstream hub can do, but for what is not passed on.
  func edgeCapabilities(_ all: [String]) -> [String] {
    guard let edge, let upstream = edge.upstream else { return all }
    let passed: Set = [
      Capability.recovery, Capability.rights, Capability.users, Capability.describe, Capability.expires,
      Capability.lists, Capability.counts, Capability.history, Capability.ephemeral,
    ]
    return all.filter { capability in
      // Barriers are those of the hub above, which asks how many peers of this edge have a version.
      if capability == Capability.applied { return upstream.capabilities.contains(Capability.counts) }
      return !passed.contains(capability) || upstream.capabilities.contains(capability)
    } + upstream.capabilities.filter { Capability.edgeNumber($0) != nil } + [Capability.edge(edge.number)]
  }

  /// What a session may write is limited by the upstream hub, what it may send at once by this one.
  func edgeLimits(_ own: Limits) -> Limits {
    guard var limits = edge?.upstream?.limits else { return own }
    limits.maxSessions = own.maxSessions
    limits.maxTopics = own.maxTopics
    limits.chunkBytes = own.chunkBytes
    limits.maxPublishedBytes = own.maxPublishedBytes
    limits.maxFrameBytes = min(own.maxFrameBytes, limits.maxFrameBytes)
    limits.routedQueueBytes = own.routedQueueBytes
    return limits
  }

  // MARK: Ends

  /// Passes on what a peer that writes has received.
  mutating func passOn(_ alive: Alive, of session: SessionID) {
    guard edge?.sessions[session]?.isWriter == true else { return }
    let progress = alive.entries.compactMap { entry in
      hub.models.index(of: entry.topic).map {
        EdgeProgress(
          model: hub.models[$0].id, confirmed: entry.confirmed,
          applied: edge?.models[$0]?.versions?.upstream(entry.applied) ?? entry.applied)
      }
    }
    if !progress.isEmpty { edge?.requests.append(.alive(session, progress)) }
  }

  /// Lets go of models that no session has joined for a while.
  mutating func unfollowUnused(_ time: HubTime) {
    for (index, followed) in (edge?.models ?? [:]).sorted(by: { $0.key < $1.key }) {
      guard hub.models[index].members.sessions.isEmpty else { continue }
      let since = followed.unusedSince ?? time.monotonic
      edge?.models[index]?.unusedSince = since
      guard time.monotonic >= since + EdgeState.lingerMilliseconds else { continue }
      edge?.unfollow(index, hub.models[index].id)
      hub.models[index].forgetContent()
    }
  }

  // MARK: Owners

  /// A peer has answered for a model that it owns.
  mutating func receive(_ approval: Approval, of session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    guard edge == nil else {
      edge?.passOn(approval, of: session, hub)
      return
    }
    if let index = proposals.receive(approval, session, &hub) { goOn(index, time, &output) }
  }
}
