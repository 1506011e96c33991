import BindingProtocol
import ZeroMQ

/// The request connections by their routing ids, and the frames that wait while a connection's pipe is full.
struct RequestConnections {
  /// Frames that wait for a connection. Past half of `routedQueueBytes` the connection gets no more model updates,
  /// only answers, until all of it has left; past the whole it is dropped. So a slow peer costs the others nothing.
  private struct Backlog {
    var frames: [[UInt8]] = []
    var bytes = 0
    /// A model update was left out; a later one would only show the gap.
    var isLagging = false
  }

  /// The result of sending a frame.
  enum Sending: Equatable {
    case sent
    /// It waits until there is room.
    case kept
    /// It was a model update, and the connection is lagging: it gets each model's head once it is writable.
    case leftOut
    /// The connection is gone, or was too far behind and is dropped.
    case gone
  }

  private var numbers: [RoutingID: ConnectionID] = [:]
  private var routes: [ConnectionID: RoutingID] = [:]
  /// The connection of the last message.
  private var latest: (route: RoutingID, number: ConnectionID)?
  private var lastNumber: ConnectionID = 0
  private var backlogs: [ConnectionID: Backlog] = [:]
  /// Who is at the other end, where the hub has keys.
  private(set) var users: [ConnectionID: ConnectionUser] = [:]
  private let maxSessions: Int
  private let maxQueueBytes: Int
  /// The connections remembered before those without a session are forgotten.
  private var quota: Int

  init(_ limits: Limits) {
    maxSessions = limits.maxSessions
    maxQueueBytes = limits.routedQueueBytes
    quota = 2 * limits.maxSessions
  }

  /// The number of the connection with this routing id, a new one for a new connection.
  mutating func number(of route: RoutingID) -> ConnectionID {
    // Messages of one connection come in runs.
    if let latest, latest.route == route { return latest.number }
    if let known = numbers[route] {
      latest = (route, known)
      return known
    }
    lastNumber += 1
    numbers[route] = lastNumber
    routes[lastNumber] = route
    latest = (route, lastNumber)
    return lastNumber
  }

  /// Records who a connection was admitted as.
  mutating func identify(_ connection: ConnectionID, as user: ConnectionUser) { users[connection] = user }

  /// Forgets a connection; its later messages count as those of a new one.
  mutating func drop(_ connection: ConnectionID) {
    backlogs[connection] = nil
    users[connection] = nil
    if latest?.number == connection { latest = nil }
    if let route = routes.removeValue(forKey: connection) { numbers[route] = nil }
  }

  /// Whether it is time to forget connections without a session.
  var areMany: Bool { numbers.count > quota }

  /// Forgets connections without a session: each attempt of a peer is a new one, and ZeroMQ does not report their
  /// end.
  mutating func forgetSilent(_ machine: HubMachine) {
    for connection in routes.keys where !machine.hasSession(on: connection) { drop(connection) }
    quota = numbers.count + 2 * maxSessions
  }

  // MARK: Sending

  /// Sends a frame, or keeps it until there is room.
  mutating func send(
    _ frame: UnsafeRawBufferPointer, to connection: ConnectionID, through router: borrowing Socket,
    counting counters: inout TransportCounters
  ) -> Sending {
    guard let route = routes[connection] else { return .gone }
    if backlogs[connection] == nil {
      switch try? router.send(frame, to: route) {
      case .sent: return .sent
      case .wouldBlock: break
      case .hostUnreachable, nil: return .gone
      }
    }
    let isModelUpdate = HubHeader.isModelUpdate(frame)
    if isModelUpdate, backlogs[connection]?.isLagging == true { return .leftOut }
    let room = isModelUpdate ? maxQueueBytes / 2 : maxQueueBytes
    let waiting = backlogs[connection]?.bytes ?? 0
    guard waiting == 0 || waiting + frame.count <= room else {
      guard isModelUpdate else {
        counters.slowConnections += 1
        drop(connection)
        return .gone
      }
      counters.laggingConnections += 1
      backlogs[connection]?.isLagging = true
      return .leftOut
    }
    backlogs[connection, default: Backlog()].frames.append(Array(frame))
    backlogs[connection]?.bytes += frame.count
    return .kept
  }

  /// Whether frames wait for room, so that the loop retries soon.
  var hasBacklog: Bool { !backlogs.isEmpty }

  /// Sends as many of the waiting frames as there is room for. Returns the connections that are gone, and those
  /// that are writable again.
  mutating func sendBacklogs(through router: borrowing Socket) -> (gone: [ConnectionID], writable: [ConnectionID]) {
    var gone: [ConnectionID] = []
    var writable: [ConnectionID] = []
    for (connection, backlog) in backlogs {
      guard let route = routes[connection] else {
        backlogs[connection] = nil
        continue
      }
      var isGone = false
      let rest = backlog.frames.drop { frame in
        let outcome = (try? router.send(frame, to: route)) ?? .hostUnreachable
        isGone = outcome == .hostUnreachable
        return outcome == .sent
      }
      if isGone || rest.isEmpty { backlogs[connection] = nil }
      if isGone {
        gone.append(connection)
      } else if rest.isEmpty {
        writable.append(connection)
      } else if rest.count < backlog.frames.count {
        backlogs[connection] = Backlog(
          frames: Array(rest), bytes: rest.reduce(0) { $0 + $1.count }, isLagging: backlog.isLagging)
      }
    }
    return (gone, writable)
  }
}
