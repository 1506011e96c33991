import BindingKeys
import Foundation
import Logging
import ZeroMQ

/// Who may connect to a hub with keys: the file of members, for the authenticator's thread and the hub's. Both see the
/// same members at any time.
final class Admissions: Sendable {
  /// The authentication domains of the hub's endpoints (option 55 of libzmq).
  enum Domain: String {
    /// Requests over `tcp`: members and holders of invitations.
    case request
    /// What is published over `tcp`: members.
    case publish
    /// Requests over `ipc`: whom the socket's directory lets through.
    case local
    /// What is published over `ipc`.
    case localPublish

    /// Whether a connection there gets what is published.
    var publishes: Bool { self == .publish || self == .localPublish }
  }

  struct State {
    var file: MembersFile
    /// Grows whenever somebody may no longer connect.
    var revocations: UInt64 = 0
    /// Grows with each change of the file.
    var changes: UInt64 = 0
    /// Why the file could not be read last time; the members of the time before stay.
    var problem: String?
    var refused: UInt64 = 0
    var refusedSites = RefusedSites()
    /// Whether the hub's own tests of its endpoints are over.
    var isOpen = false
    /// The key with which the hub tries its endpoints.
    var stranger: PublicKey?
    /// nil: everybody who may connect may do everything.
    var policy: AccessPolicy?
    /// The last request to read the file of rights.
    var request: String?

    /// Whether somebody may not connect for a time. Who runs the hub always may.
    func isKicked(_ user: HubPrincipal) -> Bool {
      // Asked for each message, and hardly ever is anybody kicked.
      guard !file.members.kicks.isEmpty, case .named(let name, _) = user, let kick = file.members.kicks[name] else {
        return false
      }
      return kick.counts(at: Admissions.now)
    }

    /// Reads or changes the file, notices who is missing afterwards, and writes down what has become of whom.
    mutating func use<Value>(
      _ audit: AuditLog, _ body: (inout MembersFile) throws(KeyError) -> Value
    ) throws(KeyError) -> Value {
      let before = file.members
      let value = try body(&file)
      let members = file.members
      let areAllLeft =
        before.keys.keys.allSatisfy { members.keys[$0] != nil }
        && before.invitations.keys.allSatisfy { members.invitations[$0] != nil }
      if !areAllLeft || members.kicks != before.kicks { revocations += 1 }
      audit.record(from: before, to: members)
      changes += 1
      return value
    }
  }

  let state: HubLock<State>
  let log: Logger
  private let keys: HubKeys
  /// The hub's own key, which the other hubs of its log have too.
  private let own: PublicKey
  let audit: AuditLog

  init(_ keys: HubKeys, own: PublicKey, log: Logger) throws(HubError) {
    let file: MembersFile
    do throws(KeyError) { file = try MembersFile(at: keys.membersPath) } catch { throw .keys(error.description) }
    let policy: AccessPolicy?
    do throws(AccessProblem) { policy = try Admissions.readPolicy(keys) } catch { throw .keys(error.description) }
    audit = AuditLog(at: keys.auditPath) { log.error("the audit log cannot be written: \($0)") }
    state = HubLock(State(file: file, policy: policy, request: keys.accessRequest()))
    (self.keys, self.own) = (keys, own)
    self.log = log
  }

  /// The hub's own tests are over: from now on refused connections are others'.
  func open() {
    let (members, hasRights) = state.withLock { state in
      state.isOpen = true
      return (state.file.members.keys.count, state.policy != nil)
    }
    audit.record(.started(members: members, hasRights: hasRights))
  }

  /// Answers the authenticator.
  func decide(_ request: AuthenticationRequest) -> Admission {
    refresh()
    let (user, reason) = user(of: request)
    guard let user else {
      if case .key(let key) = request.credentials { charge(request.address, for: key) }
      return refuse(request, because: reason)
    }
    let publishes = Domain(rawValue: request.domain)?.publishes ?? false
    if let reason = exclusion(of: user, fromPublished: publishes) { return refuse(request, because: reason) }
    return .admitted(user: "\(user)")
  }

  /// Who asks; nil: nobody whom the hub knows, and why.
  private func user(of request: AuthenticationRequest) -> (HubUser?, reason: String) {
    switch (Domain(rawValue: request.domain), request.credentials) {
    case (.local, .none), (.localPublish, .none):
      // libzmq writes `localhost:UID:GID:PID` where the system tells.
      let parts = request.address.split(separator: ":")
      guard parts.count == 4, let number = UInt32(parts[1]) else { return (nil, "the system does not say whose it is") }
      return (.local(userID: number), "")
    case (.request, .key(let key)), (.publish, .key(let key)):
      switch state.withLock({ $0.file.members.standing(of: key, at: Admissions.now) }) {
      case .member: return (.member(key), "")
      case .invited(let id):
        return request.domain == Domain.request.rawValue
          ? (.invited(id: id), "") : (nil, "an invitation lets nobody subscribe")
      case .unknown where key == own: return (.sibling, "")
      case .unknown: return (nil, "no member has this key, or the invitation has expired")
      }
    default: return (nil, "the connection is not encrypted as its endpoint demands")
    }
  }

  private func refuse(_ request: AuthenticationRequest, because reason: String) -> Admission {
    let key: PublicKey? = if case .key(let key) = request.credentials { key } else { nil }
    let isOpen = state.withLock { state in
      state.refused += 1
      return state.isOpen && (key == nil || key != state.stranger)
    }
    log.debug("refused a connection", metadata: ["address": "\(request.address)", "domain": "\(request.domain)"])
    if isOpen {
      audit.record(.refused(address: request.address, key: key, domain: request.domain, reason: reason))
    }
    return .refused
  }

  /// A stranger's key was refused. The hub's own tests are not charged.
  private func charge(_ address: String, for key: PublicKey) {
    guard let site = NetworkPrefix(address) else { return }
    let now = UInt64(monotonicMilliseconds())
    state.withLock { if $0.isOpen, key != $0.stranger { $0.refusedSites.charge(site, at: now) } }
  }

  /// Whether a connection from this site may begin its handshake now.
  func mayArrive(from site: NetworkPrefix, at now: UInt64) -> Bool {
    state.withLock { $0.refusedSites.mayPass(site, at: now) }
  }

  /// The hub tries an endpoint with this key: its refusal is no event.
  func expect(_ stranger: PublicKey) { state.withLock { $0.stranger = stranger } }

  /// The number of connections refused.
  var refused: UInt64 { state.withLock { $0.refused } }

  /// Whether an admitted user still is: its key may have been revoked since, its name kicked, or its rights changed.
  /// - Parameter toPublished: whether it gets what is published.
  func isEntitled(_ user: HubUser, toPublished: Bool = false) -> Bool {
    exclusion(of: user, fromPublished: toPublished) == nil
  }

  /// Why somebody may not connect; nil: it may.
  private func exclusion(of user: HubUser, fromPublished: Bool) -> String? {
    if case .invited(let id) = user {
      return state.withLock { $0.file.members.invitations[id] != nil } ? nil : "is nobody's any more"
    }
    guard let principal = principal(of: user) else { return "is nobody's any more" }
    return state.withLock { state in
      if state.isKicked(principal) { return "is kicked" }
      guard fromPublished, let policy = state.policy, !policy.rights(of: principal).hasFanout else { return nil }
      return "lacks the right fanout"
    }
  }

  // MARK: Rights

  /// The rights in force; nil: everybody who may connect may do everything.
  var policy: AccessPolicy? { state.withLock { $0.policy } }

  /// Who a user is to its limits, and how many connections it may have; nil: as many as it likes.
  func connectionLimit(of user: HubUser) -> (principal: HubPrincipal, name: String, most: Int)? {
    // Who holds an invitation has no name yet.
    let principal = principal(of: user) ?? .named("\(user)", role: nil)
    guard let name = principal.name, let limits = AccessPolicy.limits(of: principal, by: policy) else { return nil }
    return (principal, name, limits[.connections])
  }

  /// Who a user is to the policy; nil: nobody any more.
  func principal(of user: HubUser) -> HubPrincipal? {
    switch user {
    case .local(let number):
      let name = "\(user)"
      return number == geteuid() || number == 0 ? .owner(name: name) : .named(name, role: nil)
    case .member(let key):
      return state.withLock { $0.file.members.keys[key].map { .named($0.name, role: $0.role) } }
    case .invited: return nil
    case .sibling: return .sibling
    }
  }

  /// Reads the file of rights if somebody has asked for it since the last call, and answers. A file that is wrong
  /// changes nothing.
  /// - Returns: whether other rights are in force now.
  func reloadPolicy() -> Bool {
    guard let request = keys.accessRequest(), state.withLock({ $0.request }) != request else { return false }
    var problem: String?
    var isChanged = false
    do throws(AccessProblem) {
      let policy = try Admissions.readPolicy(keys)
      isChanged = state.withLock { state in
        defer { state.policy = policy }
        return state.policy != policy
      }
      log.notice("rights are in force", metadata: ["file": "\(keys.accessPath)"])
      audit.record(.rights(isChanged: isChanged))
    } catch {
      problem = error.description
      log.error("the rights stay as they were: \(error)")
      audit.record(.rightsRefused(problem: error.description))
    }
    state.withLock { $0.request = request }
    do throws(KeyError) { try keys.answerAccess(request, problem: problem) } catch {
      log.error("cannot answer: \(error)")
    }
    return isChanged
  }

  private static func readPolicy(_ keys: HubKeys) throws(AccessProblem) -> AccessPolicy? {
    let text: String?
    do throws(KeyError) { text = try keys.readAccess() } catch { throw AccessProblem(description: error.description) }
    guard let text else { return nil }
    do throws(AccessFileError) { return try AccessFile(text).policy } catch {
      throw AccessProblem(description: "\(keys.accessPath): \(error). To check it:  bindhub access check")
    }
  }

  /// Why the file of rights cannot be used.
  private struct AccessProblem: Error, CustomStringConvertible {
    let description: String
  }

  /// Writes down what the machine denied or limited.
  func record(_ notice: HubNotice) {
    switch notice {
    case .denied(let text): audit.record(.denied(text))
    case .limited(let name, let kind, let limit, let times):
      audit.record(.limited(name: name, limit: kind.rawValue, most: limit, times: Int64(clamping: times)))
    default: break
    }
  }

  /// Writes down that a connection was ended.
  func recordEnd(of user: HubUser) {
    audit.record(.ended(user: principal(of: user)?.name ?? "\(user)"))
  }

  // MARK: The file

  /// Reads the file if it has changed. One that cannot be read changes nothing.
  /// - Returns: a number that grows whenever somebody may no longer connect.
  @discardableResult
  func refresh() -> UInt64 {
    let (revocations, problem) = state.withLock { state -> (UInt64, String?) in
      let known = state.problem
      do throws(KeyError) {
        if try state.file.hasChanged() { try state.use(audit) { file throws(KeyError) in try file.refresh() } }
        state.problem = nil
      } catch {
        state.problem = error.description
      }
      return (state.revocations, state.problem == known ? nil : state.problem)
    }
    if let problem { log.error("the members stay as they were: \(problem)") }
    return revocations
  }

  static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
