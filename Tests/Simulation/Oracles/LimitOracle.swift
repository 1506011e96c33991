import BindingHub
import BindingProtocol

/// Limits: a name writes no more than it may, no name is held back that wrote less, and each write that is held back is
/// answered, so that its peer sends it again (protocol.md §15.7). That none is lost or overtaken by a later one, other
/// checks see.
struct LimitOracle: Invariant, SimulationPart {
  /// What one user has written and might have, in thousandths.
  private struct Account {
    var limits: RightsTable.Limits
    /// What is left if everything counts that has arrived: never more than the hub believes.
    var writes: Int
    var bytes: Int
    var longestFrame = 0
    /// What it could have written since the hub's start, and what was decided of it.
    var budget: Int
    var decided = 0
    var at: UInt64

    init(_ limits: RightsTable.Limits, at now: UInt64) {
      self.limits = limits
      (writes, bytes) = (limits.writesPerSecond * 4_000, limits.bytesPerSecond * 4_000)
      (budget, at) = (writes, now)
    }

    mutating func earn(until now: UInt64) {
      let time = Int(now - at)
      at = now
      writes = min(writes + limits.writesPerSecond * time, limits.writesPerSecond * 4_000)
      bytes = min(bytes + limits.bytesPerSecond * time, limits.bytesPerSecond * 4_000)
      budget += limits.writesPerSecond * time
    }

    mutating func change(to other: RightsTable.Limits) {
      let (now, later) = (limits.writesPerSecond, other.writesPerSecond)
      // A little less than its share: the hub rounds too.
      writes = max(writes * later / now - 1, 0)
      if bytes > 0 { bytes = max(bytes / limits.bytesPerSecond * other.bytesPerSecond - other.bytesPerSecond, 0) }
      limits = other
      forgetBudget()
    }

    /// What was admitted before may be decided later, so what is decided from now on proves nothing.
    mutating func forgetBudget() { budget = .max / 4 }

    mutating func charge(_ count: Int, bytes size: Int) {
      longestFrame = max(longestFrame, size * 1_000)
      writes = max(writes - count * 1_000, 0)
      bytes = max(bytes - size * 1_000, -longestFrame)
    }
  }

  private struct Name: Hashable {
    let tag: Tag
    let model: String
    let number: ProposalNumber
  }

  let context: SimulationContext
  private var accounts: [Int: Account] = [:]
  private var users: [Tag: Int] = [:]
  private var seen: Set<Name> = []
  /// Users of whom something that has just arrived may be held back.
  private var mayBeHeld: Set<Int> = []
  /// Answers that hold something back, and how many the hub has counted.
  private var answers: UInt64 = 0
  /// Answers that a model has not been joined; its proposals are charged too.
  private var strayed: UInt64 = 0
  private var counted: UInt64 = 0
  private var hub: SimulatedHub?

  init(context: SimulationContext) { self.context = context }

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts(let hub, _):
      (accounts, seen, mayBeHeld, answers, strayed, counted, self.hub) = ([:], [], [], 0, 0, 0, hub)
      learnLimits()
    case .rightsChange: learnLimits()
    case .received(let frame, let peer, _): receive(frame, peer)
    case .sent(let frame, .outcomes, .connection(let connection), let hub):
      try check(frame, for: hub.user(on: connection))
    case .sent(let frame, .error, _, _):
      if case .error(let error)? = try? HubMessage.decode(frame).message, error.code == .notJoined { strayed += 1 }
    case .decided(let batches): for batch in batches { try check(batch) }
    case .hubSettled: try checkAnswers()
    default: break
    }
  }

  private mutating func learnLimits() {
    for (user, record) in (context.rights?.users ?? []).enumerated() {
      guard let limits = record.limits else { continue }
      if var known = accounts[user] {
        known.earn(until: now)
        if known.limits != limits { known.change(to: limits) }
        accounts[user] = known
        continue
      }
      var account = Account(limits, at: now)
      if hub?.isThere == true {
        // Who had the standard limits before has nearly all of its share.
        account.writes = max(account.writes - 1_000, 0)
        account.bytes -= account.bytes / 20
        account.forgetBudget()
      }
      accounts[user] = account
    }
  }

  private mutating func receive(_ frame: [UInt8], _ peer: SimulatedPeer) {
    users[peer.tag] = peer.user
    guard frame.first == PeerMessageKind.propose.rawValue, var account = accounts[peer.user] else { return }
    let count = frame.withUnsafeBytes { bytes -> Int in
      var reader = WireReader(bytes)
      guard (try? PeerHeader(from: &reader)) != nil else { return 0 }
      return (try? ProposalCursor(reader))?.remaining ?? 0
    }
    account.earn(until: now)
    if account.writes < count * 1_000 || account.bytes <= 0 { mayBeHeld.insert(peer.user) }
    account.charge(count, bytes: frame.count)
    accounts[peer.user] = account
  }

  private mutating func check(_ frame: UnsafeRawBufferPointer, for user: Int?) throws(Violation) {
    guard case .outcomes(let outcomes)? = try? HubMessage.decode(frame).message else { return }
    for outcome in outcomes.outcomes {
      guard case .retryLater(.rateLimited, let pause) = outcome.rest else { continue }
      counts[.limited] += 1
      answers += 1
      guard let user, mayBeHeld.contains(user) else {
        throw Violation(.limit, "user \(user ?? -1) is held back, whose name has not written too much")
      }
      guard pause > 0, pause <= 5_000 else {
        throw Violation(.limit, "user \(user) is to send its write again after \(pause) ms")
      }
    }
  }

  private mutating func check(_ batch: Batch) throws(Violation) {
    var names: [(tag: Tag, number: ProposalNumber)] = []
    if let group = try? CommitGroup.decode(batch.body) {
      names += group.commits.map { (group.origins[Int($0.origin)].tag, $0.number) }
    }
    names += batch.decisions.filter { $0.outcome != nil }.map { ($0.origin.tag, $0.number) }
    for (tag, number) in names where number > 0 {
      guard let user = users[tag], var account = accounts[user],
        seen.insert(Name(tag: tag, model: batch.model, number: number)).inserted
      else { continue }
      account.earn(until: now)
      account.decided += 1
      accounts[user] = account
      guard account.decided * 1_000 > account.budget else { continue }
      throw Violation(
        .limit,
        "\(account.decided) writes of user \(user) were decided, whose name may make \(account.budget / 1_000) by now")
    }
  }

  private mutating func checkAnswers() throws(Violation) {
    mayBeHeld.removeAll()
    guard let counters = hub?.counters else { return }
    defer { (answers, strayed, counted) = (0, 0, counters.limitedWrites + counters.limitedBytes) }
    let held = counters.limitedWrites + counters.limitedBytes - counted
    guard answers > held || answers + strayed < held else { return }
    throw Violation(.limit, "\(held) writes were held back, and \(answers) were told so")
  }
}
