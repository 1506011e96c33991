#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How many files, sockets among them, this process may have open.
package enum OpenFiles {
  /// A hub with a store and pages has some 35 open before anybody comes.
  static let needed = 64
  /// Below it a hub says how few connections there can be.
  static let plenty = 256
  /// More than a hub needs for all the connections that it lets live.
  private static let most: rlim_t = 65_536

  static var limit: Int { present.map { Int(clamping: $0.rlim_cur) } ?? 1_024 }

  /// Raises the limit as far as this user may: the hub allows connections up to half of what is free.
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
