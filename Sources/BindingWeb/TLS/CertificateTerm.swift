#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// From when until when a certificate is valid, in seconds since 1970.
struct CertificateTerm: Hashable, Sendable {
  let from: Int64
  let until: Int64

  /// How long before its end a certificate should have been renewed; of one that is valid for a short time, the last
  /// quarter of it.
  static let warningSeconds: Int64 = 14 * 86_400

  /// What is wrong with the time, and what to do; nil: nothing.
  func problem(at now: Int64) -> String? {
    let left = until - now
    if now < from { return "it is valid from \(CertificateTerm.text(from)) on: is this machine's clock right?" }
    if left <= 0 { return "it expired on \(CertificateTerm.text(until)): renew it, and send the hub SIGHUP" }
    guard left < min(CertificateTerm.warningSeconds, (until - from) / 4) else { return nil }
    return "it expires on \(CertificateTerm.text(until)): renew it, and send the hub SIGHUP"
  }

  /// A time as in `2026-11-24T02:51:03Z`.
  static func text(_ seconds: Int64) -> String {
    var (time, parts, bytes) = (time_t(seconds), tm(), [CChar](repeating: 0, count: 32))
    gmtime_r(&time, &parts)
    let count = strftime(&bytes, bytes.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
    return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
