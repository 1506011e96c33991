package import ZeroMQ

/// The way of an edge to its upstream hub, or of a hub to a sibling. The hub's thread alone uses it, but for `wakeup`.
///
/// It has sockets of its own in the poller of that thread. Nothing here waits.
package protocol HubUplink: AnyObject {
  /// Whether the sockets have changed since they were added.
  var isPollerStale: Bool { get }
  /// Adds its sockets.
  func add(to poller: inout Poller)
  /// When `turn` is due without a message, milliseconds of the monotonic clock.
  var nextDeadline: UInt64 { get }
  /// Carries out what the edge asks, and reads what has arrived.
  /// - Parameter edges: what the next hello upstream names.
  /// - Returns: what the edge is to be told.
  func turn(_ requests: [UplinkRequest], edges: [UInt64], after poller: borrowing Poller, now: UInt64) -> [UplinkEvent]
  /// Ends it, and lets the last messages leave.
  func close(now: UInt64)
}

/// Another hub that a hub follows: an edge its upstream hub, a hub of a shared log a sibling.
package struct HubUpstream: Sendable {
  /// Where it is, for people.
  package let address: String
  /// Makes the uplink, on the thread that uses it.
  /// - Parameters: the edge's number, nil to a sibling; and the time in milliseconds of the monotonic clock.
  package let make: @Sendable (_ number: UInt64?, _ now: UInt64) throws(HubError) -> any HubUplink

  package init(
    address: String, make: @escaping @Sendable (_ number: UInt64?, _ now: UInt64) throws(HubError) -> any HubUplink
  ) {
    self.address = address
    self.make = make
  }
}

/// The ways of one hub to those that it follows.
struct HubUplinks {
  /// Leads to the upstream hub; nil: this hub is no edge.
  let upstream: (any HubUplink)?
  /// Lead to the other hubs of the same log.
  let siblings: [any HubUplink]
  let all: [any HubUplink]

  init(upstream: (any HubUplink)?, siblings: [any HubUplink]) {
    (self.upstream, self.siblings) = (upstream, siblings)
    all = (upstream.map { [$0] } ?? []) + siblings
  }
}

extension HubLoop {
  /// Makes the machine that of an edge, if the hub is to be one.
  static func makeEdge(
    _ machine: inout HubMachine, of upstream: HubUpstream?
  ) throws(HubError) -> (any HubUplink)? {
    guard let upstream else { return nil }
    let (number, time) = (UInt64.random(in: 1 ... .max), HubLoop.time)
    machine.follow(upstream: upstream.address, as: number, time: time)
    return try upstream.make(number, time.monotonic)
  }

  /// Makes the machine that of a hub with siblings, if it is to have any.
  static func makeLinks(
    _ machine: inout HubMachine, to siblings: [HubUpstream]
  ) throws(HubError) -> [any HubUplink] {
    machine.follow(siblings: siblings.count)
    return try siblings.map { sibling throws(HubError) in try sibling.make(nil, HubLoop.time.monotonic) }
  }

  /// Polls for other threads, peers and the hubs that this one follows.
  func fillPoller() -> Poller.Slot {
    poller = Poller()
    let wakeups = poller.add(mailbox.wakeup)
    transport.add(to: &poller)
    for uplink in uplinks.all { uplink.add(to: &poller) }
    return wakeups
  }

  /// Passes on what this hub wants of its siblings, and what they have sent.
  func drainSiblings(time: HubTime) {
    for (number, link) in uplinks.siblings.enumerated() {
      let requests = machine.takeRequests(ofSibling: number)
      for event in link.turn(requests, edges: [], after: poller, now: time.monotonic) {
        machine.handle(event, ofSibling: number, time: time, into: &output)
      }
    }
  }

  /// Passes on what the edge's peers want of the upstream hub, and what it has sent.
  func drain(_ uplink: any HubUplink, time: HubTime) {
    // What is waiting is asked in the same turn; what the answers ask, before the next wait.
    var requests = machine.takeRequests()
    repeat {
      for event in uplink.turn(requests, edges: machine.edgesBelow, after: poller, now: time.monotonic) {
        machine.handle(event, time: time, into: &output)
      }
      machine.finishDrain(time: time, into: &output)
      requests = machine.takeRequests()
    } while !requests.isEmpty
  }
}
