import BindingProtocol

/// What one name uses of the hub, over all its connections and sessions, and how much it may.
///
/// A class, because its sessions, models and subscribers refer to it: nothing is looked up by name for a message.
final class NameUsage {
  let name: String
  @exclusivity(unchecked) private(set) var principal: HubPrincipal
  @exclusivity(unchecked) private(set) var limits: NameLimits
  @exclusivity(unchecked) private var writes: TokenBucket
  @exclusivity(unchecked) private var bytes: TokenBucket
  /// Bytes of history, at the same rate as those of writes: who reads much may write all the same.
  @exclusivity(unchecked) private var pages: TokenBucket
  /// What is open or exists now.
  @exclusivity(unchecked) var sessions = 0
  @exclusivity(unchecked) var models = 0
  @exclusivity(unchecked) var subscriptions = 0
  /// Until then, what the name earns is promised to writes that were sent back.
  @exclusivity(unchecked) private var promisedUntil: UInt64 = 0
  @exclusivity(unchecked) private var sentBack: UInt64 = 0
  /// How often each limit has held, and when the log was told last.
  @exclusivity(unchecked) private(set) var held: [NameLimits.Kind: UInt64] = [:]
  @exclusivity(unchecked) private var toldAt: [NameLimits.Kind: UInt64] = [:]

  /// What a burst may take, in milliseconds of the rate. An outbox of 10,000 writes and 8 MiB, which a peer sends at
  /// once after a time offline, is half of it at the standard rates.
  static let burstMilliseconds = 4_000
  /// The longest pause before a write is sent again.
  static let longestPause: UInt64 = 5_000
  /// The log is told of a limit at most this often.
  static let quietMilliseconds: UInt64 = 10_000

  init(of principal: HubPrincipal, _ name: String, _ limits: NameLimits, at now: UInt64) {
    (self.principal, self.name, self.limits) = (principal, name, limits)
    writes = TokenBucket(
      perSecond: limits[.writesPerSecond], burstMilliseconds: NameUsage.burstMilliseconds, at: now)
    bytes = TokenBucket(perSecond: limits[.bytesPerSecond], burstMilliseconds: NameUsage.burstMilliseconds, at: now)
    pages = bytes
  }

  /// Other limits are in force from now on.
  func change(to limits: NameLimits, of principal: HubPrincipal, at now: UInt64) {
    self.principal = principal
    guard limits != self.limits else { return }
    self.limits = limits
    writes.change(to: limits[.writesPerSecond], at: now)
    bytes.change(to: limits[.bytesPerSecond], at: now)
    pages.change(to: limits[.bytesPerSecond], at: now)
    promisedUntil = 0
  }

  /// Whether forgetting it would change nothing.
  func isIdle(at now: UInt64) -> Bool {
    writes.refill(to: now)
    bytes.refill(to: now)
    pages.refill(to: now)
    return sessions == 0 && models == 0 && subscriptions == 0 && writes.isFull && bytes.isFull && pages.isFull
  }

  /// Whether a limit on what exists is reached, and why in words; nil: there is room. What others have is not told.
  func refusal(_ kind: NameLimits.Kind, present: Int) -> String? {
    guard present >= limits[kind] else { return nil }
    return "\(PrintedText.escaped(name)) has \(present) \(kind.rawValue), and its limit is \(limits[kind])"
  }

  // MARK: Rates

  /// Charges a message of proposals, whatever becomes of them.
  /// - Returns: how many of them may be handled, the first ones; the rest is to be sent back.
  func admit(_ count: Int, bytes size: Int, at now: UInt64) -> Int {
    writes.refill(to: now)
    bytes.refill(to: now)
    // A message longer than a burst must pass too: what it takes too much is earned before the next one passes.
    guard bytes.isPositive else { return 0 }
    let granted = min(count, writes.whole)
    writes.charge(granted)
    bytes.charge(granted == count ? size : size / count * granted)
    return granted
  }

  /// Whether a page of history may be sent to it now.
  func mayReceive(at now: UInt64) -> Bool {
    pages.refill(to: now)
    return pages.isPositive
  }

  /// Charges what it was sent of history.
  func charge(bytes size: Int) { pages.charge(size) }

  /// Which rate holds writes back now.
  var rateReached: NameLimits.Kind { bytes.isPositive ? .writesPerSecond : .bytesPerSecond }

  /// When so many writes are to be sent again: not all at once, but as the name earns them.
  func pause(of count: Int, bytes size: Int, at now: UInt64) -> UInt32 {
    let ready = now + max(writes.milliseconds(until: 1), bytes.milliseconds(until: 1))
    let latest = now + NameUsage.longestPause
    let share = max(writes.milliseconds(toEarn: count), bytes.milliseconds(toEarn: size))
    promisedUntil = min(max(promisedUntil, ready) + share, latest)
    guard promisedUntil == latest else { return UInt32(promisedUntil - now) }
    // More than can be promised: spread over the last quarter of the time.
    sentBack &+= 1
    return UInt32(NameUsage.longestPause - sentBack &* 977 % (NameUsage.longestPause / 4))
  }

  // MARK: Counting

  /// Counts that a limit has held.
  /// - Returns: whether the log is to be told.
  func count(_ kind: NameLimits.Kind, _ times: Int, at now: UInt64) -> Bool {
    held[kind, default: 0] += UInt64(times)
    if let last = toldAt[kind], now < last + NameUsage.quietMilliseconds { return false }
    toldAt[kind] = now
    return true
  }
}

extension NameUsage {
  /// What was limited, for the status.
  var json: JSON {
    .object(
      [.init("name", .string(name))]
        + NameLimits.Kind.allCases.compactMap { kind in
          held[kind].map { .init(kind.rawValue, .integer(Int64(clamping: $0))) }
        })
  }
}
