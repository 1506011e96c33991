import BindingKeys
import BindingProtocol
import Logging
import ZeroMQ

/// The change of a running hub's key: it tells all sessions of the next one as soon as somebody has drawn it, and at
/// the moment named lets new connections expect it. The file changes only after the sockets have, and a hub that starts
/// after that moment changes it first; so whenever this ends, the next start has one of the two keys that members know.
struct HubKeyChange {
  private let files: HubKeys
  private let admissions: Admissions
  private let log: Logger
  private var present: KeyPair
  private var next: HubKeys.Next?
  private var problem: String?
  /// When a change that failed is tried again, in seconds since 1970.
  private var retryAt = Int64.min

  private static let retrySeconds: Int64 = 60

  init(_ security: HubSecurity) {
    files = security.files
    admissions = security.admissions
    present = security.keys
    log = security.log
  }

  /// Looks at the file of the next pair, and does what is due.
  /// - Returns: why a change was not made that was due.
  mutating func look(
    at now: Int64, _ sockets: inout HubSockets, _ machine: inout HubMachine, into output: inout HubOutput
  ) -> HubError? {
    let known = next
    do throws(KeyError) {
      next = try files.next()
      problem = nil
    } catch {
      // What was announced stays so.
      if problem != error.description { log.error("cannot read the hub's next key: \(error)") }
      problem = error.description
      return nil
    }
    if next?.keys == present { next = nil }
    guard next == known else {
      // Another hub with these keys may have made the change.
      if next == nil, let known, (try? files.read()) == known.keys {
        return change(to: known, now, &sockets, &machine, &output)
      }
      announce(&machine, &output)
      return nil
    }
    // Who is connected has been told of it by now.
    guard let next, next.moment <= now, retryAt <= now else { return nil }
    return change(to: next, now, &sockets, &machine, &output)
  }

  /// Has sessions and the status told of the present key.
  func begin(_ machine: inout HubMachine, into output: inout HubOutput) { tell(&machine, &output) }

  private mutating func announce(_ machine: inout HubMachine, _ output: inout HubOutput) {
    if let next {
      log.notice("the key changes", metadata: ["next": "\(next.keys.publicKey)", "from": "\(next.moment)"])
      admissions.audit.record(.keyAnnounced(next.keys.publicKey, moment: next.moment))
    } else {
      log.notice("the key stays", metadata: ["key": "\(present.publicKey)"])
      admissions.audit.record(.keyKept(present.publicKey))
    }
    retryAt = .min
    tell(&machine, &output)
  }

  private mutating func change(
    to next: HubKeys.Next, _ now: Int64, _ sockets: inout HubSockets, _ machine: inout HubMachine,
    _ output: inout HubOutput
  ) -> HubError? {
    let key = next.keys.publicKey
    let files = files
    do throws(HubError) {
      try sockets.change(from: present, to: next.keys) { () throws(KeyError) in
        guard try files.completeChange(to: key) else { throw .notChanging }
      }
    } catch {
      // The key of before serves on: its endpoints have passed their test, and members know it.
      log.critical("cannot change the key, the present one stays: \(error)", metadata: ["next": "\(key)"])
      admissions.audit.record(.keyChangeFailed(problem: error.description))
      self.next = next
      retryAt = now + HubKeyChange.retrySeconds
      return error
    }
    present = next.keys
    self.next = nil
    log.notice("the key has changed", metadata: ["key": "\(key)"])
    admissions.audit.record(.keyChanged(key))
    tell(&machine, &output)
    return nil
  }

  private func tell(_ machine: inout HubMachine, _ output: inout HubOutput) {
    let announced = next.map { next in
      let moment = 1_000 * min(UInt64(clamping: next.moment), UInt64.max / 1_000)
      return AnnouncedKeys.Next(key: next.keys.publicKey.bytes, moment: moment)
    }
    machine.announce(
      AnnouncedKeys(session: 0, present: present.publicKey.bytes, next: announced), into: &output)
    machine.reporter.keys = .object(
      [.init("key", .string("\(present.publicKey)"))]
        + (next.map {
          [.init("next", .string("\($0.keys.publicKey)")), .init("nextFrom", .integer($0.moment))]
        } ?? []))
  }
}
