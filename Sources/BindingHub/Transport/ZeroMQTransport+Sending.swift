import BindingProtocol
import ZeroMQ

/// Sends frames: published, or to one request connection, where they wait while its pipe is full.
extension ZeroMQTransport {
  /// The result of sending a frame to a request connection.
  enum Sending: Equatable {
    case sent
    /// It waits until there is room.
    case kept
    /// It was a model update, and the connection is lagging: it gets each model's head once it is writable.
    case leftOut
    /// The connection is gone, or was too far behind and is dropped.
    case gone
  }

  func publish(_ frame: UnsafeRawBufferPointer) {
    if (try? xpub.send(frame)) != .sent { counters.unpublished += 1 }
  }

  /// Sends a frame, or keeps it until there is room.
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

  /// Whether frames wait for room, so that the loop retries soon.
  var hasBacklog: Bool { !backlogs.isEmpty }

  /// Sends as many of the waiting frames as there is room for. Returns the connections that are gone, and those
  /// that are writable again.
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

  /// Forgets a connection; its later messages count as those of a new one.
  func drop(_ connection: ConnectionID) {
    backlogs[connection] = nil
    if latest?.id == connection { latest = nil }
    if let route = routes.removeValue(forKey: connection) { connections[route] = nil }
  }
}
