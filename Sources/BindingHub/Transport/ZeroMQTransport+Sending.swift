import BindingProtocol
import ZeroMQ

/// What leaves: published, or to one request connection, where it waits for room if there is none.
extension ZeroMQTransport {
  /// What became of a frame for a request connection.
  enum Sending: Equatable {
    case sent
    /// It waits until there is room.
    case kept
    /// It was news, and this connection is behind with it: it is to be told where things stand once it has room.
    case leftOut
    /// The connection is gone, or too far behind.
    case gone
  }

  func publish(_ frame: UnsafeRawBufferPointer) {
    if (try? xpub.send(frame)) != .sent { counters.unpublished += 1 }
  }

  /// Sends, or keeps for when there is room.
  func send(_ frame: UnsafeRawBufferPointer, to connection: ConnectionID) -> Sending {
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
    let room = isModelUpdate ? limits.routedQueueBytes / 2 : limits.routedQueueBytes
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

  /// Whether frames wait for room, so that the loop looks again soon.
  var hasBacklog: Bool { !backlogs.isEmpty }

  /// Sends what waited, as far as there is room now; returns the connections that are gone, and those that have room
  /// again.
  func sendBacklogs() -> (gone: [ConnectionID], writable: [ConnectionID]) {
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

  /// Forgets a connection; what it still sends comes from a new one.
  func drop(_ connection: ConnectionID) {
    backlogs[connection] = nil
    if latest?.id == connection { latest = nil }
    if let route = routes.removeValue(forKey: connection) { connections[route] = nil }
  }
}
