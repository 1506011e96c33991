/// The public part of an identity: the eight bytes under which proposals are numbered. It is derived from the
/// secret, so that showing the secret proves ownership of the tag, and the hub need not remember tags.
public struct Tag: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The eight bytes read little-endian.
  public var rawValue: UInt64

  @inlinable
  /// Parses a tag's `description`; nil if it is malformed.
  public init?(_ description: String) {
    guard description.utf8.count == 16, let number = UInt64(description, radix: 16) else { return nil }
    rawValue = number.byteSwapped
  }

  /// Makes a tag of its number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The tag of a secret: the first eight bytes of SHA-256 over `bindbus tag 1`, a zero byte and the secret.
  package init(of secret: Secret) {
    var message = Array("bindbus tag 1".utf8) + [0]
    for half in [secret.high, secret.low] { withUnsafeBytes(of: half.littleEndian) { message += $0 } }
    rawValue = SHA256.digest(message).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// No tag.
  public static let none = Tag(rawValue: 0)

  public static func < (left: Tag, right: Tag) -> Bool { left.rawValue < right.rawValue }

  /// Four hexadecimal digits for people: enough to tell two peers of the same name apart, but not unique.
  public var short: String { String(description.prefix(4)) }

  /// Sixteen hexadecimal digits, in wire byte order.
  public var description: String { hexDigits(rawValue.byteSwapped) }
}

/// The secret part of an identity: sixteen random bytes. A session acts for a tag only after showing its secret.
/// Never printed.
package struct Secret: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes, read little-endian.
  package var high: UInt64
  /// The last eight bytes, read little-endian.
  package var low: UInt64

  /// Makes a secret of its two halves.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Sixteen fresh bytes of the system's randomness.
  package static func random() -> Secret {
    var random = SystemRandomNumberGenerator()
    return Secret(high: random.next(), low: random.next())
  }

  package var description: String { "Secret(…)" }
}

/// The identity of a peer, for one run of its process.
public struct Identity: Hashable, Sendable {
  /// The public part.
  public var tag: Tag
  /// The secret part.
  package var secret: Secret
  /// 1 to 64 bytes of UTF-8, for people, as `Names.checkPeer` allows; need not be unique.
  public var name: String

  /// The identity of that secret; the tag is derived from it.
  package init(secret: Secret, name: String) { self.init(tag: Tag(of: secret), secret: secret, name: name) }

  /// An identity as claimed in a hello: the tag may not match the secret (`isProven`).
  package init(tag: Tag, secret: Secret, name: String) {
    self.tag = tag
    self.secret = secret
    self.name = name
  }

  /// Whether the tag belongs to the secret. The hub refuses a hello for which this is false.
  public var isProven: Bool { tag == Tag(of: secret) }

  /// The public part with the name, as other peers see it.
  public var origin: Origin { Origin(tag: tag, name: name) }
}

/// The writer of a commit.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
  /// The writer's tag.
  public var tag: Tag
  /// The writer's name, which it chose itself.
  public var name: String
  /// The name under which a hub with keys had let the writer in when it decided: a member's, or `uid:N` of a local
  /// user. nil: the hub has no keys, or the writer is in the hub's process.
  public var user: String?

  /// Makes an origin.
  public init(tag: Tag, name: String, user: String? = nil) {
    self.tag = tag
    self.name = name
    self.user = user
  }

  /// The origin of a field that has never been written.
  public static let none = Origin(tag: .none, name: "")

  public var description: String { "\(shownName)#\(tag.short)" }

  /// The name with the tag's first digits, which distinguishes peers of the same name for people and scripts:
  /// `kitchen-3f2a`. Names of pages end with these digits already.
  public var fullName: String { shownName.hasSuffix("-\(tag.short)") ? shownName : "\(shownName)-\(tag.short)" }

  /// The full name and, in parentheses, the user: `kitchen-3f2a (anna)`.
  public var attribution: String { shownUser.map { "\(fullName) (\($0))" } ?? fullName }

  /// The user, escaped for display.
  public var shownUser: String? { user.map { PrintedText.escaped($0) } }

  /// The name, escaped for display: a log or a hub may hold a name from before such characters were refused.
  public var shownName: String { PrintedText.escaped(name) }
}

/// Two lower-case hexadecimal digits for each byte.
package func hexDigits(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

/// Sixteen lower-case hexadecimal digits, the highest first.
func hexDigits(_ number: UInt64) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}
