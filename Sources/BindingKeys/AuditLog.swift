import BindingProtocol
import Dispatch
import Foundation
package import ZeroMQ

/// Who was let in and who was refused, and which rights changed: a line of JSON for each event, appended to a file
/// beside the hub's keys. A thread of its own writes, so that a slow disk delays nobody. Past `limit` bytes the file is
/// set aside as `audit.log.1`, in place of the one before; past `linesASecond` events are counted only.
package final class AuditLog: Sendable {
  /// What is written down.
  package enum Event: Hashable, Sendable {
    /// The hub starts.
    case started(members: Int, hasRights: Bool)
    /// A key is a member's from now on.
    case admitted(name: String, key: PublicKey, invitation: String?, by: PublicKey? = nil)
    /// A key is nobody's any more.
    case revoked(name: String, key: PublicKey)
    case invited(name: String, id: String)
    /// An invitation was withdrawn.
    case withdrawn(name: String, id: String)
    /// A browser was let in, or is let in no longer.
    case pageAdmitted(name: String, id: String, label: String, invitation: String)
    case pageEnded(name: String, id: String)
    /// A member or local user may not connect until a time in seconds since 1970.
    case kicked(name: String, until: Int64)
    /// It may connect again before that time.
    case readmitted(name: String)
    /// A connection was refused.
    case refused(address: String, key: PublicKey?, domain: String, reason: String)
    /// A user's connection was ended, as it may no longer connect or its rights have changed.
    case ended(user: String)
    /// Other rights are in force, or the same ones (`isChanged`).
    case rights(isChanged: Bool)
    /// The file of rights is wrong; the rights of before stay.
    case rightsRefused(problem: String)
    /// Members are told of the hub's next key, which counts from a time in seconds since 1970.
    case keyAnnounced(PublicKey, moment: Int64)
    /// The hub keeps its key.
    case keyKept(PublicKey)
    /// The hub has another key.
    case keyChanged(PublicKey)
    /// The hub could not change its key, and keeps the present one for now.
    case keyChangeFailed(problem: String)
    /// Somebody asked for something without the right to it.
    case denied(String)
    /// A limit of a name has held so many times by now.
    case limited(name: String, limit: String, most: Int, times: Int64)
    /// An administrator has removed something from a model's history.
    case historyDropped(String)
  }

  private struct State {
    var second: Int64 = 0
    var lines = 0
    var leftOut = 0
  }

  /// The path of the file.
  package let path: String
  private let limit: Int
  private let linesASecond: Int
  private let state = NSLock()
  // SAFETY: read and changed only while `state` is held.
  nonisolated(unsafe) private var pace = State()
  private let queue = DispatchQueue(label: "bindbus.audit")
  private let complain: @Sendable (String) -> Void
  // SAFETY: used only on `queue`.
  nonisolated(unsafe) private var hasComplained = false

  /// - Parameters:
  ///   - limit: bytes of the file at most.
  ///   - linesASecond: lines in a second at most.
  ///   - complain: hears once why nothing can be written, on another thread.
  package init(
    at path: String, limit: Int = 4 << 20, linesASecond: Int = 100, complain: @escaping @Sendable (String) -> Void
  ) {
    (self.path, self.limit, self.linesASecond, self.complain) = (path, limit, linesASecond, complain)
  }

  /// Writes an event down, soon.
  /// - Parameter time: milliseconds since 1970.
  package func record(_ event: Event, at time: Int64 = AuditLog.now) {
    var lines: [[UInt8]] = []
    state.lock()
    if pace.second != time / 1_000 {
      if pace.leftOut > 0 {
        lines.append(AuditLog.line("leftOut", [.init("events", .integer(Int64(pace.leftOut)))], at: time))
      }
      pace = State(second: time / 1_000)
    }
    pace.lines += 1
    if pace.lines > linesASecond { pace.leftOut += 1 } else { lines.append(event.line(at: time)) }
    state.unlock()
    guard !lines.isEmpty else { return }
    let bytes = Array(lines.joined())
    queue.async { self.append(bytes) }
  }

  /// Writes down what has become of members and invitations.
  package func record(from before: Members, to now: Members) {
    guard before != now else { return }
    for (key, member) in now.keys where before.keys[key] == nil {
      record(.admitted(name: member.name, key: key, invitation: member.invitation, by: member.by))
    }
    for (key, member) in before.keys where now.keys[key] == nil { record(.revoked(name: member.name, key: key)) }
    for (id, invitation) in now.invitations where before.invitations[id] == nil {
      record(.invited(name: invitation.name, id: id))
    }
    for (id, invitation) in before.invitations where now.invitations[id] == nil {
      record(.withdrawn(name: invitation.name, id: id))
    }
    recordPages(from: before.pages, to: now.pages)
    for (name, kick) in now.kicks where before.kicks[name] != kick { record(.kicked(name: name, until: kick.until)) }
    for name in before.kicks.keys where now.kicks[name] == nil { record(.readmitted(name: name)) }
  }

  private func recordPages(from before: MemberPages, to now: MemberPages) {
    for (id, invitation) in now.invitations where before.invitations[id] == nil {
      record(.invited(name: invitation.name, id: id))
    }
    for (id, invitation) in before.invitations where now.invitations[id] == nil {
      record(.withdrawn(name: invitation.name, id: id))
    }
    for (id, page) in now.sessions where before.sessions[id] == nil {
      record(.pageAdmitted(name: page.name, id: id, label: page.label, invitation: page.invitation))
    }
    for (id, page) in before.sessions where now.sessions[id] == nil { record(.pageEnded(name: page.name, id: id)) }
  }

  /// Waits until all that was recorded is written.
  package func flush() { queue.sync {} }

  private func append(_ bytes: [UInt8]) {
    do throws(KeyError) {
      try PrivateFile.append(bytes, toLogAt: path, limit: limit)
      hasComplained = false
    } catch {
      if !hasComplained { complain(error.description) }
      hasComplained = true
    }
  }

  fileprivate static func line(_ name: String, _ members: [JSON.Member], at time: Int64) -> [UInt8] {
    let moment = Date(timeIntervalSince1970: Double(time) / 1_000)
    let text = moment.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    let json = JSON.object([.init("time", .string(text)), .init("event", .string(name))] + members)
    return Array((json.text + "\n").utf8)
  }

  /// The present, in milliseconds since 1970.
  package static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}

extension AuditLog.Event {
  fileprivate func line(at time: Int64) -> [UInt8] {
    func text(_ name: String, _ value: String) -> JSON.Member { .init(name, .string(value)) }
    func line(_ name: String, _ members: JSON.Member...) -> [UInt8] { AuditLog.line(name, members, at: time) }
    switch self {
    case .started(let members, let hasRights):
      return line("started", .init("members", .integer(Int64(members))), .init("rights", .bool(hasRights)))
    case .admitted(let name, let key, let invitation, let by):
      let members = [
        text("name", name), text("key", "\(key)"), .init("invitation", invitation.map { .string($0) } ?? .null),
      ]
      return AuditLog.line("admitted", members + (by.map { [text("by", "\($0)")] } ?? []), at: time)
    case .revoked(let name, let key): return line("revoked", text("name", name), text("key", "\(key)"))
    case .invited(let name, let id): return line("invited", text("name", name), text("id", id))
    case .withdrawn(let name, let id): return line("withdrawn", text("name", name), text("id", id))
    case .pageAdmitted(let name, let id, let label, let invitation):
      return line(
        "pageAdmitted", text("name", name), text("id", id), text("label", label), text("invitation", invitation))
    case .pageEnded(let name, let id): return line("pageEnded", text("name", name), text("id", id))
    case .kicked(let name, let until): return line("kicked", text("name", name), .init("until", .integer(until)))
    case .readmitted(let name): return line("readmitted", text("name", name))
    case .refused(let address, let key, let domain, let reason):
      return line(
        "refused", text("address", address), .init("key", key.map { .string("\($0)") } ?? .null),
        text("domain", domain), text("reason", reason))
    case .ended(let user): return line("ended", text("user", user))
    case .rights(let isChanged): return line("rights", .init("changed", .bool(isChanged)))
    case .rightsRefused(let problem): return line("rightsRefused", text("problem", problem))
    case .keyAnnounced(let key, let moment):
      return line("keyAnnounced", text("key", "\(key)"), .init("from", .integer(moment)))
    case .keyKept(let key): return line("keyKept", text("key", "\(key)"))
    case .keyChanged(let key): return line("keyChanged", text("key", "\(key)"))
    case .keyChangeFailed(let problem): return line("keyChangeFailed", text("problem", problem))
    case .denied(let text): return line("denied", .init("text", .string(text)))
    case .historyDropped(let what): return line("historyDropped", text("what", what))
    case .limited(let name, let limit, let most, let times):
      return line(
        "limited", text("name", name), text("limit", limit), .init("most", .integer(Int64(most))),
        .init("times", .integer(times)))
    }
  }
}
