"""Places of the mutants of rights, in the hub."""

from place import Place

_CORE = "Sources/BindingHub/Core/"

PLACES = [
    Place(
        _CORE + "Access/HubMembers.swift", "func announce", "instead of",
        "for session in hub.sessions.inOrder { hub.sendKeys(to: session.id, &output) }",
        """
if !Mutant.isOn(.keysOnlyAfterWelcome) {
  for session in hub.sessions.inOrder { hub.sendKeys(to: session.id, &output) }
}
""",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func hello", "instead of",
        "hub.sendKeys(to: id, &output)",
        "if !Mutant.isOn(.keysOnlyAtChange) { hub.sendKeys(to: id, &output) }",
    ),
    Place(
        _CORE + "Sync/HubMachine+Joins.swift", "func joinModel", "instead of",
        "guard user.mayRead(join.name) else {",
        "guard user.mayRead(join.name) || Mutant.isOn(.joinUnread) else {",
    ),
    Place(
        _CORE + "Access/UserRights.swift", "var isBelieved", "instead of",
        "mayRecover || write == .all",
        "mayRecover || write == .all || Mutant.isOn(.believeReaders)",
    ),
    Place(
        _CORE + "Sync/PrefixAnnouncer.swift", "func announce", "instead of",
        "let user = hub.access.rights(in: share.session, on: connection)",
        "let user = Mutant.isOn(.announceUnread) ? .all : hub.access.rights(in: share.session, on: connection)",
    ),
    Place(
        _CORE + "Sync/PrefixAnnouncer.swift", "func announceFirstCommit", "instead of",
        """
guard let session = hub.sessions[id], hub.access.rights(of: session).mayRead(model.id) else {
  continue
}
""",
        """
guard let session = hub.sessions[id],
  Mutant.isOn(.announceFirstUnread) || hub.access.rights(of: session).mayRead(model.id)
else {
  continue
}
""",
    ),
    Place(
        _CORE + "Access/PublishPermit.swift", "init", "before",
        "guard let policy else { return }",
        "if Mutant.isOn(.publishUnread) { return }",
    ),
    Place(
        _CORE + "Models/ModelTable.swift", "func apply", "before",
        "for model in logs where model !== removed { model.permit = PublishPermit(for: model.id, by: policy) }",
        "if Mutant.isOn(.keepPublishing) { return }",
    ),
    Place(
        _CORE + "Models/ModelTable.swift", "func make", "instead of",
        "model.permit = PublishPermit(for: id, by: policy)",
        "model.permit = PublishPermit(for: id, by: Mutant.isOn(.publishNew) ? nil : policy)",
    ),
    Place(
        _CORE + "Models/ModelLog.swift", "", "instead of",
        "var routed: Set<SessionID> { permit == nil ? members.sessions : members.routed }",
        """
var routed: Set<SessionID> {
  permit == nil && !Mutant.isOn(.routeFew) ? members.sessions : members.routed
}
""",
    ),
    Place(
        _CORE + "Sync/HeadPublisher.swift", "func beatOnRequestConnections", "instead of",
        "let cannotSubscribe = !hub.access.rights(of: session.connection).hasFanout",
        """
let cannotSubscribe =
  !hub.access.rights(of: session.connection).hasFanout && !Mutant.isOn(.silentToUnsubscribed)
""",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func hello", "instead of",
        "endpoints: carrier.hasFanout ? hub.configuration.endpoints : [],",
        "endpoints: carrier.hasFanout || Mutant.isOn(.tellEndpoints) ? hub.configuration.endpoints : [],",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func hello", "instead of",
        "let name = represented?.name ?? hub.access.user(of: connection)?.name",
        """
let carrierName = Mutant.isOn(.forgetUser) ? nil : hub.access.user(of: connection)?.name
let name = Mutant.isOn(.nameCarrier) ? carrierName : represented?.name ?? carrierName
""",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func hello", "instead of",
        "if let represented { hub.access.represent(represented, in: id, through: connection) }",
        """
if let represented, !Mutant.isOn(.ignoreRepresented) {
  hub.access.represent(represented, in: id, through: connection)
}
""",
    ),
    Place(
        _CORE + "Access/AccessControl.swift", "func representation", "instead of",
        "guard isGateway(connection) else {",
        "guard isGateway(connection) || Mutant.isOn(.anyGateway) else {",
    ),
    Place(
        _CORE + "Access/AccessControl.swift", "func rights", "before",
        "return policy.rights(of: .named(somebody.name, role: somebody.role)).limited(to: gateway)",
        """
if Mutant.isOn(.carrierRights) { return gateway }
if Mutant.isOn(.beyondCarrier) { return policy.rights(of: .named(somebody.name, role: somebody.role)) }
""",
    ),
    Place(
        _CORE + "Access/AccessControl.swift", "func apply", "before",
        "let rights = rights(of: user.representation, through: user.connection)",
        "if Mutant.isOn(.keepRepresented) { continue }",
    ),
    Place(
        _CORE + "Access/UserRights.swift", "var patterns", "instead of",
        "return fields.count > Int(UInt8.max) ? [.everything] : fields",
        "return fields.count > Int(UInt8.max) || Mutant.isOn(.tellMore) ? [.everything] : fields",
    ),
    Place(
        _CORE + "Access/AccessControl.swift", "func checkRight", "before",
        "guard let refusal = limitation?.refusal(of: verb, field(), in: model) else { return }",
        "if Mutant.isOn(.writeUnchecked) { return }",
    ),
    Place(
        _CORE + "Access/UserRights.swift", "func contains", "instead of",
        "case .some(let patterns): patterns.contains { $0.matches(field: field) }",
        "case .some(let patterns): Mutant.isOn(.anyField) || patterns.contains { $0.matches(field: field) }",
    ),
    Place(
        _CORE + "Access/UserRights.swift", "func missing", "instead of",
        "if isDeletion { return delete.contains(field) ? nil : .delete }",
        "if isDeletion, !Mutant.isOn(.deleteAsWrite) { return delete.contains(field) ? nil : .delete }",
    ),
    Place(
        _CORE + "Access/UserRights.swift", "func missing", "before",
        "if field == Names.description { return mayDescribe ? nil : .describe }",
        "if Mutant.isOn(.describeAsWrite), write != .none, field == Names.description { return nil }",
    ),
    Place(
        _CORE + "Access/AccessControl.swift", "func checkRightToClear", "before",
        'guard let refusal = limitation?.refusal(of: .clear, "", in: model) else { return }',
        "if Mutant.isOn(.clearUnchecked) { return }",
    ),
    Place(
        _CORE + "Access/AccessControl.swift", "func apply", "before",
        "var changed: [ConnectionID] = []",
        "if Mutant.isOn(.keepRights) { return [] }",
    ),
    Place(
        _CORE + "Access/AccessControl.swift", "func rights", "instead of",
        "return users[connection]?.rights ?? .none",
        "return users[connection]?.rights ?? (Mutant.isOn(.anyConnectionMay) ? .all : .none)",
    ),
    Place(
        _CORE + "Access/HubMembers.swift", "func isAdmin", "before",
        "let user = hub.access.rights(in: header.session, on: connection)",
        "if Mutant.isOn(.adminUnchecked) { return true }",
    ),
    Place(
        _CORE + "Limits/NameUsage.swift", "func admit", "before",
        "guard bytes.isPositive else { return 0 }",
        "if Mutant.isOn(.limitNobody) { return count }",
    ),
    Place(
        _CORE + "Limits/UsageTable.swift", "func usage", "before",
        "if let known = usages[name] {",
        "if Mutant.isOn(.limitOthers), let other = usages.values.min(by: { $0.name < $1.name }) { return other }",
    ),
    Place(
        _CORE + "Writes/ProposalQueue.swift", "func receive", "instead of",
        "case .waits: unacknowledged += 1",
        """
case .waits:
  unacknowledged += 1
  if Mutant.isOn(.forgetRefused), case .refused? = log.batch.pending.decisions.last?.outcome {
    _ = usage?.admit(-1, bytes: 0, at: time.monotonic)
  }
""",
    ),
    Place(
        _CORE + "Writes/ProposalQueue.swift", "func receive", "instead of",
        "hub.retryLater(proposals.topic, proposals.number, .rateLimited, pause: pause, session)",
        """
if Mutant.isOn(.dropLimited) { continue }
hub.retryLater(
  proposals.topic, proposals.number, .rateLimited, pause: Mutant.isOn(.endlessPause) ? 3_600_000 : pause, session)
""",
    ),
    Place(
        _CORE + "Limits/UsageTable.swift", "func apply", "before",
        "for usage in usages.values {",
        "if Mutant.isOn(.keepLimits) { return }",
    ),
]
