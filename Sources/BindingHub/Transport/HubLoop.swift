import BindingKeys
import BindingProtocol
import Dispatch
import Foundation
import Logging
import ZeroMQ

/// The loop of the hub's thread: it drains the transports into the machine, passes decisions to the store, and lets
/// the machine publish and acknowledge only what is stored (R1). The properties used for every message are
/// `@exclusivity(unchecked)`: one thread uses them.
final class HubLoop {
  private let configuration: Hub.Configuration
  let mailbox: HubMailbox
  private let log: Logger
  let transport: ZeroMQTransport
  private var clients = InProcessClients()
  private let logWorker: any LogWorker
  let uplinks: HubUplinks
  @exclusivity(unchecked) var machine: HubMachine
  @exclusivity(unchecked) var output = HubOutput()
  @exclusivity(unchecked) var poller = Poller()
  private var isStopping = false
  /// When a drained hub ends.
  private var endsAt: UInt64?
  private var drops = DropRecords()
  private var failure: StoreError?

  /// Why the loop ended.
  enum Ending {
    case stopped
    case failed(StoreError)
    /// The store is to be opened again, in another state.
    case again
  }

  var addresses: [HubAddress] { transport.sockets.addresses }

  init(configuration: Hub.Configuration, mailbox: HubMailbox, log: Logger) throws(HubError) {
    self.configuration = configuration
    self.mailbox = mailbox
    self.log = log
    let isOpen = { (address: HubAddress) in !address.isLoopback && configuration.keys == nil }
    for address in configuration.listen where isOpen(address) && !configuration.isInsecureAllowed {
      throw .notLoopback(address: address.description)
    }
    if !configuration.listen.isEmpty { try OpenFiles.check() }
    let security = try HubSecurity(configuration, log)
    do throws(ZeroMQError) {
      transport = try ZeroMQTransport(configuration.limits, security)
    } catch {
      throw .system("Cannot create the hub's sockets: \(error)")
    }
    for address in configuration.listen { try transport.listen(address) }
    try transport.sockets.testThatStrangersAreRefused()
    try security?.record(configuration.name, transport.sockets.addresses)
    security?.admissions.open()
    log.report(transport)
    let opened = try OpenedLog.open(configuration, at: transport.sockets.addresses.first)
    var settings = HubMachineConfiguration()
    settings.limits = configuration.limits
    settings.heartbeatMilliseconds = UInt32(clamping: configuration.heartbeat.wholeMilliseconds)
    settings.leaseMilliseconds = UInt32(clamping: configuration.lease.wholeMilliseconds)
    settings.name = configuration.name
    (settings.durability, settings.isShared) = (opened.durability, opened.isShared)
    settings.endpoints = transport.sockets.endpoints
    settings.otherHubs = Array(configuration.otherHubs.filter(\.isReachable).prefix(OtherHubs.most))
    (settings.recovery, settings.isPlayback) = (configuration.isRecoveryOn, configuration.isPlayback)
    settings.recreatedMilliseconds = configuration.recreatedWait.wholeMilliseconds
    settings.isInsecure = configuration.listen.contains(where: isOpen)
    if settings.isInsecure {
      log.warning("INSECURE: any client on the network may read and write everything, and nothing is encrypted")
    }
    if security != nil { settings.topicSeed = .random(in: 0 ... .max) }
    machine = HubMachine(
      configuration: settings, birth: opened.birth(start: .random(in: 1 ... .max)), time: HubLoop.time,
      epochSeed: UInt64.random(in: 1 ... .max))
    var machine = machine
    uplinks = HubUplinks(
      upstream: try HubLoop.makeEdge(&machine, of: configuration.upstream),
      siblings: try HubLoop.makeLinks(&machine, to: opened.isShared ? configuration.siblings : []))
    _ = machine.apply(security?.admissions.policy)
    transport.announceKeys(&machine)
    try opened.restore(&machine)
    self.machine = machine
    logWorker = try opened.startWorker(wakeup: mailbox.wakeup, log)
    let addresses = transport.sockets.addresses.map(\.description).joined(separator: ", ")
    log.info("listening", metadata: opened.metadata.merging(["addresses": "\(addresses)"]) { $1 })
  }

  static var time: HubTime {
    HubTime(
      monotonic: DispatchTime.now().uptimeNanoseconds / 1_000_000, wall: UInt64(Date().timeIntervalSince1970 * 1_000))
  }

  func run() -> Ending {
    var wakeups = fillPoller()
    while !isStopping {
      if uplinks.all.contains(where: \.isPollerStale) { wakeups = fillPoller() }
      wait()
      let time = HubLoop.time
      if poller.isReadable(wakeups) {
        mailbox.wakeup.clear()
        let messages = mailbox.takeMessages()
        // A gateway may speak for somebody who has been admitted a moment ago.
        if messages.contains(where: \.isHello) { transport.tellMembers(&machine) }
        for message in messages {
          if case .play(let request) = message { play(request, time: time) }
          if !clients.receive(message, &machine, time: time, into: &output) { isStopping = true }
        }
      }
      machine.reporter.transport = transport.counters
      machine.reporter.store = logWorker.status
      drops.record(machine.reporter.store.drops, log, transport.admissions)
      transport.drain(&machine, after: poller, time: time, into: &output)
      transport.revoke(&machine, time: time, into: &output)
      if transport.hasBacklog { sendBacklogs(time: time) }
      if let upstream = uplinks.upstream { drain(upstream, time: time) }
      if !uplinks.siblings.isEmpty { drainSiblings(time: time) }
      if machine.nextDeadline <= time.monotonic { machine.tick(time: time, into: &output) }
      settle(time: time)
      if machine.isDrained { stopSoon(time) }
    }
    end()
    log.info("stopped")
    guard let failure else { return .stopped }
    return failure.kind == .replaced ? .again : .failed(failure)
  }

  /// Sends the decisions made before the end, says goodbye to the sessions, and closes the store.
  private func end() {
    let time = HubLoop.time
    do throws(StoreError) {
      if failure == nil {
        try logWorker.waitUntilDone()
        settle(time: time)
      }
      machine.close(into: &output)
      flush(time: time)
      // Goodbyes, and what became of a drain.
      transport.sockets.linger(milliseconds: 500)
      for uplink in uplinks.all { uplink.close(now: time.monotonic) }
      if failure == nil { try logWorker.close() }
    } catch {
      fail(error)
    }
    logWorker.join()
    clients.endAll()
    transport.admissions?.audit.flush()
  }

  /// A drained hub stays for a moment, so that its last words arrive before its connections end.
  private func stopSoon(_ time: HubTime) {
    let endsAt = endsAt ?? time.monotonic + 200
    self.endsAt = endsAt
    isStopping = isStopping || time.monotonic >= endsAt
  }

  private func wait() {
    let now = HubLoop.time.monotonic
    var limit = machine.nextDeadline <= now ? 0 : Int(min(machine.nextDeadline - now, 60_000))
    if transport.mayHaveMore { limit = 0 }
    if transport.hasBacklog { limit = min(limit, 5) }
    if endsAt != nil { limit = min(limit, 20) }
    for uplink in uplinks.all {
      let due = uplink.nextDeadline
      limit = min(limit, due <= now ? 0 : Int(min(due - now, 60_000)))
    }
    do throws(ZeroMQError) {
      _ = try poller.wait(timeoutMilliseconds: limit)
    } catch {
      log.critical("cannot wait for messages", metadata: ["error": "\(error)"])
      isStopping = true
    }
  }

  /// Passes decisions to the store, handles its answers and sends frames, until nothing is left to do.
  func settle(time: HubTime) {
    guard failure == nil else { return }
    machine.finishDrain(time: time, into: &output)
    do throws(StoreError) {
      var isAnswered = true
      while isAnswered {
        try logWorker.handOver(&output, of: &machine)
        isAnswered = try logWorker.deliver(to: &machine, time: time, into: &output)
        if let failure = output.failure { throw failure }
      }
    } catch {
      fail(error)
      return
    }
    flush(time: time)
  }

  /// A store that failed must not be written to again (R12): nothing that it has not confirmed is acknowledged.
  private func fail(_ error: StoreError) {
    if error.kind == .replaced {
      log.warning("restarting", metadata: ["reason": "\(error)"])
    } else {
      log.critical("the store failed", metadata: ["error": "\(error)"])
    }
    failure = error
    isStopping = true
    output.removeAll()
  }

  private func flush(time: HubTime) {
    var gone: [ConnectionID] = []
    output.forEachFrame { destination, frame in
      switch destination {
      case .publish:
        transport.publish(frame)
        clients.publish(frame)
      case .connection(let connection):
        if InProcessClients.owns(connection) {
          clients.send(frame, to: connection)
        } else {
          switch transport.send(frame, to: connection) {
          case .sent: break
          case .kept: machine.becameCongested(connection)
          case .leftOut: machine.leftOut(frame, for: connection)
          case .gone: if gone.last != connection { gone.append(connection) }
          }
        }
      }
    }
    for notice in output.notices {
      log.report(notice)
      transport.admissions?.record(notice)
    }
    let (disconnect, cut) = (output.disconnect, output.cut)
    output.removeAll()
    for subscriber in cut { transport.cut(subscriber) }
    for connection in disconnect { drop(connection, time: time) }
    for connection in gone { close(connection, time: time) }
    if !output.isEmpty { settle(time: time) }
  }

  /// Sends the frames that waited, and tells the machine which connections are gone or writable again.
  private func sendBacklogs(time: HubTime) {
    let (gone, writable) = transport.sendBacklogs()
    for connection in gone { close(connection, time: time) }
    for connection in writable { machine.becameWritable(connection, into: &output) }
  }

  /// The transport keeps the connection's number: the peer's last message, mostly a goodbye, may still be unread.
  private func close(_ connection: ConnectionID, time: HubTime) {
    machine.closed(connection, time: time, into: &output)
  }

  private func drop(_ connection: ConnectionID, time: HubTime) {
    if InProcessClients.owns(connection) {
      clients.end(connection, &machine, time: time, into: &output)
    } else {
      transport.drop(connection)
    }
  }
}
