import BindingWire
import Dispatch
import Foundation
import Logging
import ZeroMQ

/// What runs on the hub's thread: it drains the gates into the machine, has the store take what was decided, and lets
/// the machine publish and acknowledge only what the store has taken (R1).
final class HubLoop {
  private let options: HubOptions
  private let mailbox: HubMailbox
  private let log: Logger
  private let gate: ZeroMQGate
  private var guests = InProcessGate()
  private let logFile: LogFile
  private let store: any Store
  private var machine: HubMachine
  private var output = HubOutput()
  private let startedAt: UInt64
  private var isStopping = false
  private var failure: StoreError?

  /// Where this hub listens.
  var addresses: [HubAddress] { gate.addresses }

  init(options: HubOptions, mailbox: HubMailbox, log: Logger) throws(HubFailure) {
    self.options = options
    self.mailbox = mailbox
    self.log = log
    for address in options.listen where !address.isLoopback && !options.isInsecureAllowed {
      throw .notLoopback(address: address.description)
    }
    do throws(ZeroMQError) {
      gate = try ZeroMQGate(limits: options.limits)
    } catch {
      throw .system("cannot make the hub's sockets: \(error)")
    }
    for address in options.listen { try gate.listen(address) }
    logFile = LogFile(for: gate.addresses.first)
    let birth = try logFile.nextBirth()
    let memory = MemoryStore(logID: birth.logID, epoch: birth.epoch)
    do throws(StoreError) {
      store =
        try options.historyPath.map { path throws(StoreError) in
          try HistoryStore(memory, path: path, hub: options.name)
        } ?? memory
    } catch {
      throw .history(problem: "the history \(error)")
    }
    var configuration = HubConfiguration()
    configuration.limits = options.limits
    configuration.beatMilliseconds = options.beatMilliseconds
    configuration.leaseMilliseconds = options.leaseMilliseconds
    configuration.name = options.name
    configuration.durability = .memory
    configuration.ways = gate.bound
    configuration.rescue = options.isRescueOn
    let time = HubLoop.time
    startedAt = time.monotonic
    machine = HubMachine(
      configuration: configuration, birth: birth, stored: [], time: time, epochSeed: UInt64.random(in: 1 ... .max))
    log.info(
      "listening",
      metadata: [
        "addresses": "\(gate.addresses.map(\.description).joined(separator: ", "))", "durability": "memory",
        "epoch": "\(birth.epoch)",
      ])
  }

  private static var time: HubTime {
    HubTime(
      monotonic: DispatchTime.now().uptimeNanoseconds / 1_000_000, wall: UInt64(Date().timeIntervalSince1970 * 1_000))
  }

  func run() {
    while !isStopping {
      wait()
      mailbox.wakeup.clear()
      let time = HubLoop.time
      for letter in mailbox.takeLetters() where !guests.receive(letter, &machine, time: time, into: &output) {
        isStopping = true
      }
      machine.gate = gate.counters
      gate.drain(&machine, time: time, into: &output)
      if gate.hasBacklog { sendBacklogs(time: time) }
      if machine.nextDeadline <= time.monotonic { machine.tick(time: time, into: &output) }
      settle(time: time)
    }
    machine.close(into: &output)
    flush(time: HubLoop.time)
    guests.endAll()
    mailbox.markEnded(failure)
    log.info("stopped")
  }

  private func wait() {
    var poller = Poller()
    _ = poller.add(mailbox.wakeup)
    gate.add(to: &poller)
    let now = HubLoop.time.monotonic
    var limit = machine.nextDeadline <= now ? 0 : Int(min(machine.nextDeadline - now, 60_000))
    if gate.mayHaveMore { limit = 0 }
    if gate.hasBacklog { limit = min(limit, 5) }
    do throws(ZeroMQError) {
      _ = try poller.wait(timeoutMilliseconds: limit)
    } catch {
      log.critical("cannot wait for messages", metadata: ["error": "\(error)"])
      isStopping = true
    }
  }

  /// Has decided batches stored, then published and acknowledged; what that leads to, too, until nothing is left.
  private func settle(time: HubTime) {
    guard failure == nil else { return }
    machine.finishDrain(time: time, into: &output)
    do throws(StoreError) {
      while try store(time: time) {}
    } catch {
      // A store that failed must not be written to again (R12): nothing of these batches is acknowledged.
      log.critical("the store failed", metadata: ["error": "\(error)"])
      failure = error
      isStopping = true
      output.removeAll()
      return
    }
    flush(time: time)
  }

  /// Takes to the store what the machine wants stored or read again.
  /// - Returns: whether there was anything.
  private func store(time: HubTime) throws(StoreError) -> Bool {
    if let epoch = output.newEpoch {
      output.newEpoch = nil
      try store.start(epoch)
      try logFile.note(logID: store.logID, epoch: epoch)
      log.warning("a peer knows commits that are missing here: a new epoch", metadata: ["epoch": "\(epoch)"])
      return true
    }
    if !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll(keepingCapacity: true)
      machine.appended(try store.append(batches), of: batches, time: time, into: &output)
      return true
    }
    if !output.reload.isEmpty {
      let models = output.reload
      output.reload.removeAll()
      for model in models {
        let stored = try store.load(model) ?? StoredModel(model: model, epoch: store.epoch, batches: [])
        machine.reloaded(stored, time: time, into: &output)
      }
      return true
    }
    return false
  }

  private func flush(time: HubTime) {
    var gone: [ConnectionID] = []
    output.forEachFrame { destination, frame in
      switch destination {
      case .publish:
        gate.publish(frame)
        guests.publish(frame)
      case .connection(let connection):
        if InProcessGate.owns(connection) {
          guests.send(frame, to: connection)
        } else {
          switch gate.send(frame, to: connection) {
          case .taken: break
          case .leftOut: machine.leftOut(frame, for: connection)
          case .gone: gone.append(connection)
          }
        }
      }
    }
    for notice in output.notices { report(notice) }
    let (disconnect, cut) = (output.disconnect, output.cut)
    output.removeAll()
    for subscriber in cut { gate.cut(subscriber) }
    for connection in disconnect { drop(connection, time: time) }
    for connection in gone { close(connection, time: time) }
    if !output.isEmpty { settle(time: time) }
  }

  /// Sends what waited for room, and brings up to date who was behind.
  private func sendBacklogs(time: HubTime) {
    let (gone, roomy) = gate.sendBacklogs()
    for connection in gone { close(connection, time: time) }
    for connection in roomy { machine.hasRoom(connection, into: &output) }
  }

  private func report(_ notice: HubNotice) {
    switch notice {
    case .healed(let peer, let model, let version):
      log.warning(
        "a peer had other values at the same version, and has healed itself",
        metadata: ["peer": "\(peer)", "model": "\(model)", "version": "\(version)"])
    case .differs(let peer, let model, let version):
      log.error(
        "a peer has other values at the same version",
        metadata: ["peer": "\(peer)", "model": "\(model)", "version": "\(version)"])
    }
  }

  private func close(_ connection: ConnectionID, time: HubTime) {
    gate.drop(connection)
    machine.closed(connection, time: time, into: &output)
  }

  private func drop(_ connection: ConnectionID, time: HubTime) {
    if InProcessGate.owns(connection) {
      guests.end(connection, &machine, time: time, into: &output)
    } else {
      gate.drop(connection)
    }
  }
}
