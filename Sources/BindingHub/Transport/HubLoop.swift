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
  private let logFile: LogFile?
  private let storeWorker: StoreWorker
  /// Leads to the upstream hub; nil: this hub is no edge.
  let uplink: (any HubUplink)?
  @exclusivity(unchecked) var machine: HubMachine
  @exclusivity(unchecked) var output = HubOutput()
  @exclusivity(unchecked) var poller = Poller()
  private var isStopping = false
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
    let opened = try LogFile.open(configuration, at: transport.sockets.addresses.first)
    let store = opened.store
    logFile = opened.logFile
    var settings = HubMachineConfiguration()
    settings.limits = configuration.limits
    settings.heartbeatMilliseconds = UInt32(clamping: configuration.heartbeat.wholeMilliseconds)
    settings.leaseMilliseconds = UInt32(clamping: configuration.lease.wholeMilliseconds)
    settings.name = configuration.name
    settings.durability = store.durability
    settings.endpoints = transport.sockets.endpoints
    (settings.recovery, settings.isPlayback) = (configuration.isRecoveryOn, configuration.isPlayback)
    settings.recreatedMilliseconds = configuration.recreatedWait.wholeMilliseconds
    settings.isInsecure = configuration.listen.contains(where: isOpen)
    if settings.isInsecure {
      log.warning("INSECURE: any client on the network may read and write everything, and nothing is encrypted")
    }
    if security != nil { settings.topicSeed = .random(in: 0 ... .max) }
    let birth = HubBirth(
      logID: store.logID, epoch: store.epoch, start: .random(in: 1 ... .max), tailProven: store.tail != .unproven,
      floor: store.floor)
    machine = HubMachine(
      configuration: settings, birth: birth, time: HubLoop.time, epochSeed: UInt64.random(in: 1 ... .max))
    var machine = machine
    uplink = try HubLoop.makeEdge(&machine, of: configuration.upstream)
    _ = machine.apply(security?.admissions.policy)
    transport.announceKeys(&machine)
    do throws(StoreError) {
      try store.load { model throws(StoreError) in try machine.restore(model) }
    } catch {
      throw .store(error)
    }
    self.machine = machine
    do throws(ZeroMQError) {
      storeWorker = try StoreWorker(store, wakeup: mailbox.wakeup)
    } catch {
      throw .system("Cannot start the store's thread: \(error)")
    }
    log.info(
      "listening",
      metadata: [
        "addresses": "\(transport.sockets.addresses.map(\.description).joined(separator: ", "))",
        "durability": "\(store.durability)", "epoch": "\(birth.epoch)", "tail": "\(store.tail)",
        "store": "\(store.status.path ?? "memory")",
      ])
  }

  static var time: HubTime {
    HubTime(
      monotonic: DispatchTime.now().uptimeNanoseconds / 1_000_000, wall: UInt64(Date().timeIntervalSince1970 * 1_000))
  }

  func run() -> Ending {
    var wakeups = fillPoller()
    while !isStopping {
      if uplink?.isPollerStale == true { wakeups = fillPoller() }
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
      machine.reporter.store = storeWorker.status
      drops.record(machine.reporter.store.drops, log, transport.admissions)
      transport.drain(&machine, after: poller, time: time, into: &output)
      transport.revoke(&machine, time: time, into: &output)
      if transport.hasBacklog { sendBacklogs(time: time) }
      if let uplink { drain(uplink, time: time) }
      if machine.nextDeadline <= time.monotonic { machine.tick(time: time, into: &output) }
      settle(time: time)
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
        try storeWorker.waitUntilDone()
        settle(time: time)
      }
      machine.close(into: &output)
      flush(time: time)
      uplink?.close(now: time.monotonic)
      if failure == nil { try storeWorker.close() }
    } catch {
      fail(error)
    }
    storeWorker.join()
    clients.endAll()
    transport.admissions?.audit.flush()
  }

  private func wait() {
    let now = HubLoop.time.monotonic
    var limit = machine.nextDeadline <= now ? 0 : Int(min(machine.nextDeadline - now, 60_000))
    if transport.mayHaveMore { limit = 0 }
    if transport.hasBacklog { limit = min(limit, 5) }
    if let due = uplink?.nextDeadline { limit = min(limit, due <= now ? 0 : Int(min(due - now, 60_000))) }
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
      var answers: [StoreWorker.Answer] = []
      repeat {
        try handOver()
        answers = try storeWorker.takeAnswers()
        for answer in answers { handle(answer, time: time) }
        if let failure = output.failure { throw failure }
      } while !answers.isEmpty
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

  /// Submits to the store what the machine wants stored, reloaded or forgotten.
  private func handOver() throws(StoreError) {
    if let epoch = output.newEpoch {
      output.newEpoch = nil
      try storeWorker.start(epoch)
      try logFile?.record(logID: storeWorker.logID, epoch: epoch)
      log.warning("a peer knows commits that are missing here: a new epoch", metadata: ["epoch": "\(epoch)"])
    }
    if !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll(keepingCapacity: true)
      try storeWorker.append(batches)
    }
    if !output.reload.isEmpty {
      let models = output.reload
      output.reload.removeAll()
      try storeWorker.load(models)
    }
    if let query = output.takeHistory() { try storeWorker.read(query) }
    if !output.forgotten.isEmpty {
      try storeWorker.forget(output.forgotten)
      output.forgotten.removeAll()
    }
  }

  private func handle(_ answer: StoreWorker.Answer, time: HubTime) {
    switch answer {
    case .appended(let results, let batches): machine.appended(results, of: batches, time: time, into: &output)
    case .loaded(let model): machine.reloaded(model, time: time, into: &output)
    case .history(let query, let result): machine.answered(query, result, into: &output)
    }
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
