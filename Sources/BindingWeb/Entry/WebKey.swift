import BindingProtocol

/// What lets programs and browsers in: a lasting token, and what is derived from it for browsers.
///
/// Programs show the token. A browser is given a code, once, in an address, where others may see it and the browser
/// keeps it; for the code it gets a session in a cookie. Browsers send cookies to every port of a host, so a session is
/// good for one `HOST:PORT` only, for a limited time, and never as a token. Nothing of it has to be stored: both are
/// proved by an HMAC under the token.
struct WebKey: Sendable, Hashable {
  /// 32 hexadecimal digits.
  let token: String
  /// Which start of the gateway it belongs to: a code of an earlier start is not good again. 16 hexadecimal digits.
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

  /// A new code for an address: 8 digits of its time, 8 of chance, 16 that prove them.
  /// - Parameter now: seconds since 1970.
  func code(now: Int64) -> String {
    let body = WebKey.hex(UInt32(truncatingIfNeeded: now)) + WebKey.random(words: 1)
    return body + proof("code", run, body).prefix(16)
  }

  /// When a code ends to be good, in seconds since 1970; nil if it is none of this start or has ended. Whether it was
  /// used before, the caller knows.
  func end(ofCode code: String, now: Int64) -> Int64? {
    guard code.utf8.count == WebKey.codeDigits, let made = Int64(code.prefix(8), radix: 16),
      WebKey.isSame(code.dropFirst(16), proof("code", run, String(code.prefix(16))).prefix(16)),
      abs(now - made) <= WebKey.codeSeconds
    else { return nil }
    return made + WebKey.codeSeconds
  }

  // MARK: Sessions

  /// The session of a browser that reached the gateway as this host, `HOST:PORT`: when it ends, and what proves it.
  func session(host: String, now: Int64) -> String {
    let end = String(now + WebKey.sessionSeconds, radix: 16)
    return "\(end)-\(proof("session", host.lowercased(), end).prefix(32))"
  }

  /// When a session ends, in seconds since 1970; nil if it is none for this host, or has ended.
  func end(ofSession shown: some StringProtocol, host: String, now: Int64) -> Int64? {
    let parts = shown.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let end = Int64(parts[0], radix: 16), end > now,
      WebKey.isSame(parts[1], proof("session", host.lowercased(), String(parts[0])).prefix(32))
    else { return nil }
    return end
  }

  // MARK: A name of its own

  /// A name of this machine under which no other program has pages, for who knows the token alone can tell it. Browsers
  /// take every name below `localhost` for this machine.
  var hostName: String { "bindbus-\(proof("host").prefix(16)).localhost" }

  // MARK: Proofs

  /// Looks at every byte whatever differs, so that the time taken tells nothing of what was wanted.
  static func isSame(_ shown: some StringProtocol, _ wanted: some StringProtocol) -> Bool {
    guard shown.utf8.count == wanted.utf8.count else { return false }
    return zip(shown.utf8, wanted.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// HMAC-SHA256 (RFC 2104) under the token, in hexadecimal digits.
  private func proof(_ purpose: String, _ parts: String...) -> String {
    let key = Array(token.utf8) + [UInt8](repeating: 0, count: 64 - token.utf8.count)
    let message = "bindbus \(purpose) 1\0" + parts.joined(separator: "\0")
    let inner = SHA256.digest(key.map { $0 ^ 0x36 } + Array(message.utf8))
    return SHA256.digest(key.map { $0 ^ 0x5C } + inner).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
  }

  /// Random bits of the system, 32 a word, in hexadecimal digits.
  private static func random(words: Int) -> String {
    var system = SystemRandomNumberGenerator()
    return (0..<words).map { _ in hex(UInt32.random(in: 0 ... .max, using: &system)) }.joined()
  }

  private static func hex(_ word: UInt32) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// Codes that were used and would still be good. Only a code that proves itself comes in here, so who keeps the key
/// decides how many there are.
struct UsedCodes {
  private var ends: [String: Int64] = [:]

  var count: Int { ends.count }

  /// Whether the code is used for the first time.
  mutating func use(_ code: String, until end: Int64, now: Int64) -> Bool {
    if ends.count >= 256 { ends = ends.filter { $0.value >= now } }
    return ends.updateValue(end, forKey: code) == nil
  }
}
