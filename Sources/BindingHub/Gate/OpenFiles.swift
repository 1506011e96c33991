#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How many files, sockets among them, this process may have open.
enum OpenFiles {
  /// A hub with a store and pages has some 35 open before anybody comes.
  static let needed = 64
  /// Below it a hub says how few connections there can be.
  static let plenty = 256

  static var limit: Int {
    var limit = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    guard getrlimit(resource, &limit) == 0 else { return 1_024 }
    return Int(clamping: limit.rlim_cur)
  }
}
