import ZeroMQ

/// Holds back sites whose connections present keys that no member has. Only such keys count, never a member's: all
/// members behind one address may come back at once.
///
/// Not safe across threads; `Admissions` keeps it behind its lock.
struct RefusedSites {
  /// A refused key costs a handshake, about a millisecond: past the burst a site costs the hub some hundredths of a
  /// core.
  private static let keysPerSecond = 10
  private static let burstMilliseconds = 10_000
  /// Connections that are let through from a site held back, so that a member behind the same address gets in.
  private static let passesPerSecond = 20
  /// The sites remembered. All others share one entry, so that nobody is forgotten by coming from many.
  private static let mostSites = 4_096

  private struct Site {
    var keys: TokenBucket
    var passes: TokenBucket

    init(at now: UInt64) {
      keys = TokenBucket(
        perSecond: RefusedSites.keysPerSecond, burstMilliseconds: RefusedSites.burstMilliseconds, at: now)
      passes = TokenBucket(perSecond: RefusedSites.passesPerSecond, burstMilliseconds: 1_000, at: now)
    }
  }

  private var sites: [NetworkPrefix: Site] = [:]
  private var others: Site?

  /// The number of sites remembered.
  var count: Int { sites.count }

  /// A key of this site was refused.
  mutating func charge(_ site: NetworkPrefix, at now: UInt64) {
    if sites[site] == nil, sites.count >= RefusedSites.mostSites { forgetIdle(at: now) }
    if sites[site] == nil, sites.count >= RefusedSites.mostSites {
      RefusedSites.charge(&others, at: now)
    } else {
      RefusedSites.charge(&sites[site], at: now)
    }
  }

  private static func charge(_ site: inout Site?, at now: UInt64) {
    var charged = site ?? Site(at: now)
    charged.keys.refill(to: now)
    // As much may be owed as a burst, so that the one who goes on stays held back.
    charged.keys.charge(1, owing: keysPerSecond * burstMilliseconds / 1_000)
    site = charged
  }

  /// Whether a connection that arrives from this site may begin a handshake.
  mutating func mayPass(_ site: NetworkPrefix, at now: UInt64) -> Bool {
    if sites[site] != nil { return RefusedSites.mayPass(&sites[site], at: now) }
    return sites.count < RefusedSites.mostSites || RefusedSites.mayPass(&others, at: now)
  }

  private static func mayPass(_ site: inout Site?, at now: UInt64) -> Bool {
    guard var known = site else { return true }
    defer { site = known }
    known.keys.refill(to: now)
    if known.keys.whole > 0 { return true }
    known.passes.refill(to: now)
    guard known.passes.whole > 0 else { return false }
    known.passes.charge(1)
    return true
  }

  private mutating func forgetIdle(at now: UInt64) {
    sites = sites.filter { site in
      var keys = site.value.keys
      keys.refill(to: now)
      return !keys.isFull
    }
  }
}
