#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The limit of open files, sockets included, of this process.
package enum OpenFiles {
  /// A hub with a store and pages has about 35 open before the first connection.
  static let needed = 64
  /// Below this the hub logs how few connections it can keep.
  static let plenty = 256
  /// More than a hub needs for all the connections that it keeps.
  private static let most: rlim_t = 65_536

  package static var limit: Int { present.map { Int(clamping: $0.rlim_cur) } ?? 1_024 }

  /// - Throws: `HubError.openFiles` if the limit is too low for a hub that listens.
  static func check() throws(HubError) {
    guard limit >= needed else { throw .openFiles(allowed: limit, needed: needed) }
  }

  /// Raises the limit as far as this user may: the hub keeps connections up to half of what is free.
  package static func raise() {
    guard var limit = present else { return }
    let wanted = raised(limit.rlim_cur, upTo: limit.rlim_max)
    guard wanted > limit.rlim_cur else { return }
    limit.rlim_cur = wanted
    _ = setrlimit(resource, &limit)
  }

  static func raised(_ limit: rlim_t, upTo hard: rlim_t) -> rlim_t { max(limit, min(hard, most)) }

  private static var present: rlimit? {
    var limit = rlimit()
    return getrlimit(resource, &limit) == 0 ? limit : nil
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
