import BindingKeys
import ZeroMQ

/// The limit of a name's connections. Past it the one that has been silent longest ends, not the new one: a peer that
/// comes back before its dead connection is noticed gets in.
extension ZeroMQTransport {
  /// Makes room for a request connection whose user has just become known.
  /// - Returns: false: all others are alive, and this one is refused.
  func makeRoom(
    for user: ConnectionUser, _ connection: ConnectionID, _ admissions: Admissions, _ machine: inout HubMachine,
    _ time: HubTime, _ output: inout HubOutput
  ) -> Bool {
    guard let descriptor = user.descriptor else { return true }
    let accepted = AcceptedConnection(descriptor: descriptor, isPublish: false)
    // Its arrival is among the events by now.
    quota.drain(at: time.monotonic)
    guard let limit = admissions.connectionLimit(of: user.user) else {
      quota.identified(accepted)
      return true
    }
    var others = quota.named.all(of: limit.name, subscribing: false).filter { $0.connection != accepted }
    while others.count >= limit.most {
      guard let index = silent(among: others, machine, time) else {
        machine.refuseConnection(message.unsafeBytes, on: connection, of: limit.principal, time: time, into: &output)
        quota.refuse(accepted, at: time.monotonic)
        return false
      }
      machine.limitedConnections(of: limit.principal, time: time, into: &output)
      let gone = others.remove(at: index)
      quota.named.remove(gone.connection)
      gone.connection.cut()
      guard let request = gone.entry.request else { continue }
      // Its sessions live until their leases end, as with any lost connection.
      connections.drop(request)
      machine.closed(request, time: time, into: &output)
    }
    quota.identified(accepted)
    quota.named.add(
      accepted, NamedConnections.Entry(name: limit.name, request: connection, since: time.monotonic))
    return true
  }

  /// Makes room for a connection to the publishing socket. As a peer has one for each request connection, it is never
  /// refused itself.
  func makeRoom(
    forSubscriber user: HubUser, _ descriptor: Int32, _ admissions: Admissions, _ machine: inout HubMachine,
    _ time: HubTime, _ output: inout HubOutput
  ) {
    let accepted = AcceptedConnection(descriptor: descriptor, isPublish: true)
    quota.identified(accepted)
    guard let limit = admissions.connectionLimit(of: user) else { return }
    var others = quota.named.all(of: limit.name, subscribing: true).filter { $0.connection != accepted }
    while others.count >= limit.most {
      let heard = others.map { other in
        subscribers.id(of: other.connection.descriptor).flatMap { machine.lastHeard(by: $0) } ?? other.entry.since
      }
      guard let index = heard.indices.min(by: { heard[$0] < heard[$1] }) else { break }
      machine.limitedConnections(of: limit.principal, time: time, into: &output)
      let gone = others.remove(at: index).connection
      quota.named.remove(gone)
      gone.cut()
    }
    quota.named.add(accepted, NamedConnections.Entry(name: limit.name, request: nil, since: time.monotonic))
  }

  /// The request connection to end: the one whose session this message ends anyway, else the one silent longest; nil:
  /// none has been silent for two heartbeats, each of which a living peer answers.
  private func silent(
    among others: [(connection: AcceptedConnection, entry: NamedConnections.Entry)], _ machine: HubMachine,
    _ time: HubTime
  ) -> Int? {
    if let fenced = machine.connection(fencedBy: message.unsafeBytes),
      let index = others.firstIndex(where: { $0.entry.request == fenced })
    {
      return index
    }
    let heard = others.map { other in
      other.entry.request.flatMap { machine.lastHeard(on: $0) } ?? other.entry.since
    }
    let patience = 2 * UInt64(machine.hub.configuration.heartbeatMilliseconds)
    return heard.indices.min { heard[$0] < heard[$1] }.flatMap { heard[$0] + patience < time.monotonic ? $0 : nil }
  }
}
