package import BindingProtocol

/// The hubs to which a peer may connect, all of one log, and which of them is tried next.
///
/// They are tried at random: if all peers of a lost hub went to the next one of a list, that one would have to take
/// them all. A *round* tries each hub once, each as soon as the one before has failed; only after a round the peer
/// pauses. A hub that has a log of its own is no hub of these: nothing is ever joined, sent or offered there.
package struct HubPool: Sendable {
  /// The most addresses of one round: a chain of hubs that each name another one ends here.
  private static let longestRound = 64

  /// The hubs that the program named, each by its addresses, best first.
  private let configured: [[HubAddress]]
  /// Whether they are reached encrypted, with a key that is known: then others are too.
  private let hasKeys: Bool
  /// Those that the hub in use has named, or that were remembered.
  private var named: [HubAddress]
  /// Whether an earlier process was told of them, and none of the hubs has in this one: they may be long gone.
  private var areRemembered: Bool
  /// Whether there was ever a choice: also if the hub in use is the only other one of the one that it names.
  private var hadSeveral = false
  /// Those that this round has tried, or has no reason to try.
  private var tried: Set<HubAddress> = []
  /// Where other logs were found since the peer's log was found last.
  private var others: [HubAddress: LogID] = [:]
  private var backoff = Backoff()
  /// Why the hub at an address is none of these, for people.
  private(set) var misfit: String?
  /// The address to connect to, or in use; nil: the link knows it, or none was chosen yet.
  package private(set) var current: HubAddress?

  /// A pool without addresses, of a link that has one hub and knows how to reach it.
  package init() { self.init([]) }

  /// - Parameters:
  ///   - addresses: of a hub each.
  ///   - areOfOneHub: they lead to one hub instead, best first, and are tried in this order.
  ///   - hasKeys: whether the hub is reached encrypted, with a key that is known.
  ///   - remembered: others of its log, tried only where it cannot be reached.
  package init(
    _ addresses: [HubAddress], areOfOneHub: Bool = false, hasKeys: Bool = false, remembered: [HubAddress] = []
  ) {
    configured = addresses.isEmpty ? [] : areOfOneHub ? [addresses] : addresses.map { [$0] }
    self.hasKeys = hasKeys
    (named, areRemembered) = (remembered, !remembered.isEmpty)
    hadSeveral = hasSeveral
  }

  private var hubs: [[HubAddress]] { configured + named.map { [$0] } }

  /// Whether there is a choice.
  package var hasSeveral: Bool { configured.count + (areRemembered ? 0 : named.count) > 1 }

  /// All addresses, those that the program named first.
  package var addresses: [HubAddress] { hubs.flatMap { $0 } }

  // MARK: The next one

  /// Begins a round.
  mutating func begin(using generator: inout SeededGenerator) {
    tried.removeAll()
    if areRemembered, choose(from: configured, using: &generator) { return }
    _ = choose(from: hubs, using: &generator)
  }

  /// The hub in use could not be reached, or has refused this peer: chooses the next.
  /// - Parameter asTold: it closes, and has named others, which are tried first.
  /// - Returns: whether the round is over, so that the peer pauses first.
  mutating func fail(asTold: Bool, using generator: inout SeededGenerator) -> Bool {
    if asTold, choose(from: named.map { [$0] }, using: &generator) { return false }
    if choose(from: hubs, using: &generator) { return false }
    begin(using: &generator)
    return true
  }

  /// The hub in use, which has served this peer for a while, is lost: begins a round of the others.
  mutating func leave(asTold: Bool, using generator: inout SeededGenerator) -> Bool {
    let lost = hubs.first { hub in current.map { hub.contains($0) } ?? false }
    tried = Set(lost ?? [])
    return fail(asTold: asTold, using: &generator)
  }

  /// Chooses one of these hubs at random, by the best of its addresses that this round has not tried.
  /// - Returns: whether there is one.
  private mutating func choose(from hubs: [[HubAddress]], using generator: inout SeededGenerator) -> Bool {
    guard tried.count < HubPool.longestRound else { return false }
    let open = hubs.compactMap { hub in hub.first { !tried.contains($0) } }
    guard let chosen = open.count > 1 ? open.randomElement(using: &generator) : open.first else { return false }
    tried.insert(chosen)
    current = chosen
    return true
  }

  // MARK: Pauses

  /// A hub has served this peer: the pauses begin anew.
  mutating func resetPauses() { backoff.reset() }

  /// The milliseconds until the next connection.
  mutating func pause(_ options: SessionOptions, using generator: inout SeededGenerator) -> UInt64 {
    backoff.pause(from: options.shortestPauseMilliseconds, to: options.longestPauseMilliseconds, using: &generator)
  }

  // MARK: What hubs say

  /// The hub in use has named others of its log.
  /// - Parameter isWelcomed: whether it has this peer's log. Then they take the place of those that were named before.
  mutating func learn(_ told: [HubAddress], isWelcomed: Bool) {
    guard let current else { return }
    var known = Set(configured.joined())
    known.insert(current)
    areRemembered = false
    if isWelcomed { named.removeAll() } else { known.formUnion(named) }
    // Without encryption nothing proves which hub answers.
    let new = told.filter { (!hasKeys || $0.transport == .tcp) && known.insert($0).inserted }
    named += new.prefix(OtherHubs.most - named.count)
    if hasSeveral { hadSeveral = true }
  }

  /// The hub in use has welcomed this peer with the log that the peer knows, or with its first one.
  mutating func accept() {
    others.removeAll()
    misfit = nil
    // One of several must first serve this peer: else two that close would be asked without a pause.
    if !hadSeveral { resetPauses() }
  }

  /// The hub in use has welcomed this peer with another log than the peer's.
  /// - Returns: whether the peer has to go over to that log: because it knows no other hub, or because all of them
  ///   have that log now. Otherwise this hub is none of these, which is news the first time.
  mutating func compare(_ log: LogID, with other: LogID) -> (goesOver: Bool, isNews: Bool) {
    guard hasSeveral, let current else { return (true, true) }
    let isNews = others.updateValue(other, forKey: current) != other
    if hubs.allSatisfy({ hub in hub.contains { others[$0] == other } }) { return (true, true) }
    misfit =
      "the hub at \(current) has the log \(String(other, radix: 16)), and this peer's is \(String(log, radix: 16)): "
      + "it is no hub of the same log. Leave out its address; or, if the log was replaced, start with it alone"
    return (false, isNews)
  }
}
