import BindingProtocol

/// Authenticates programs and browsers: a permanent token, and codes and sessions derived from it for browsers.
///
/// Programs send the token. A browser gets a code, once, in an address, where others may see it and which the
/// browser keeps; it exchanges the code for a session in a cookie. Browsers send cookies to every port of a host,
/// so a session is valid for one `HOST:PORT` only, for a limited time, and never as a token. Codes and sessions are
/// not stored: an HMAC under the token proves both.
struct WebKey: Sendable, Hashable {
  /// 32 hexadecimal digits.
  let token: String
  /// The run of the gateway: codes of earlier runs are invalid. 16 hexadecimal digits.
  let run: String

  static let codeSeconds: Int64 = 300
  static let sessionSeconds: Int64 = 30 * 86_400
  static let codeDigits = 32

  /// - Parameter token: nil: a new one, of 128 random bits.
  init(token: String? = nil, run: String? = nil) {
    self.token = token ?? WebKey.random(words: 4)
    self.run = run ?? WebKey.random(words: 2)
  }

  // MARK: Codes

  /// A new code for an address: 8 digits of time, 8 random ones, 16 that prove them.
  /// - Parameter now: seconds since 1970.
  func code(now: Int64) -> String {
    let body = WebKey.hex(UInt32(truncatingIfNeeded: now)) + WebKey.random(words: 1)
    return body + proof("code", run, body).prefix(16)
  }

  /// When a code expires, in seconds since 1970; nil if it is invalid, of another run, or expired. The caller
  /// checks whether it has been used.
  func end(ofCode code: String, now: Int64) -> Int64? {
    guard code.utf8.count == WebKey.codeDigits, let made = Int64(code.prefix(8), radix: 16),
      WebKey.isSame(code.dropFirst(16), proof("code", run, String(code.prefix(16))).prefix(16)),
      abs(now - made) <= WebKey.codeSeconds
    else { return nil }
    return made + WebKey.codeSeconds
  }

  // MARK: Sessions

  /// A session for a browser that reached the gateway as this host, `HOST:PORT`: its expiry and its proof.
  func session(host: String, now: Int64) -> String {
    let end = String(now + WebKey.sessionSeconds, radix: 16)
    return "\(end)-\(proof("session", host.lowercased(), end).prefix(32))"
  }

  /// When a session expires, in seconds since 1970; nil if it is invalid for this host, or expired.
  func end(ofSession shown: some StringProtocol, host: String, now: Int64) -> Int64? {
    let parts = shown.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let end = Int64(parts[0], radix: 16), end > now,
      WebKey.isSame(parts[1], proof("session", host.lowercased(), String(parts[0])).prefix(32))
    else { return nil }
    return end
  }

  // MARK: A name of its own

  /// A host name of this machine that no other program's pages share, because only holders of the token can compute
  /// it. Browsers resolve every name under `localhost` to this machine.
  var hostName: String { "bindbus-\(proof("host").prefix(16)).localhost" }

  // MARK: Proofs

  /// Compares in constant time, so that the duration reveals nothing about the secret.
  static func isSame(_ shown: some StringProtocol, _ wanted: some StringProtocol) -> Bool {
    guard shown.utf8.count == wanted.utf8.count else { return false }
    return zip(shown.utf8, wanted.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// HMAC-SHA256 (RFC 2104) under the token, in hexadecimal digits.
  private func proof(_ purpose: String, _ parts: String...) -> String {
    let key = Array(token.utf8) + [UInt8](repeating: 0, count: 64 - token.utf8.count)
    let message = "bindbus \(purpose) 1\0" + parts.joined(separator: "\0")
    let inner = SHA256.digest(key.map { $0 ^ 0x36 } + Array(message.utf8))
    return hexDigits(SHA256.digest(key.map { $0 ^ 0x5C } + inner))
  }

  /// `words` times 32 random bits of the system, in hexadecimal digits.
  private static func random(words: Int) -> String {
    var system = SystemRandomNumberGenerator()
    return (0..<words).map { _ in hex(UInt32.random(in: 0 ... .max, using: &system)) }.joined()
  }

  private static func hex(_ word: UInt32) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// Used codes that have not expired. Only valid codes are added, so the holder of the key controls their number.
struct UsedCodes {
  private var ends: [String: Int64] = [:]

  var count: Int { ends.count }

  /// Records the use of a code; true for the first use.
  mutating func use(_ code: String, until end: Int64, now: Int64) -> Bool {
    if ends.count >= 256 { ends = ends.filter { $0.value >= now } }
    return ends.updateValue(end, forKey: code) == nil
  }
}
