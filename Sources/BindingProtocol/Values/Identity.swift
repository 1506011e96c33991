/// The public part of an identity: the eight bytes under which proposals are numbered. They are made of the secret, so
/// that whoever shows the secret proves that the tag is its own, and nobody has to remember it.
public struct Tag: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The eight bytes read little-endian.
  public var rawValue: UInt64

  @inlinable
  /// The tag that is written so; nil if none is.
  public init?(_ description: String) {
    guard description.utf8.count == 16, let number = UInt64(description, radix: 16) else { return nil }
    rawValue = number.byteSwapped
  }

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The tag of who has that secret: the first eight bytes of SHA-256 over `bindbus tag 1`, a zero byte and the secret.
  public init(of secret: Secret) {
    var message = Array("bindbus tag 1".utf8) + [0]
    for half in [secret.high, secret.low] { withUnsafeBytes(of: half.littleEndian) { message += $0 } }
    rawValue = SHA256.digest(message).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The tag that stands for nobody.
  public static let none = Tag(rawValue: 0)

  public static func < (left: Tag, right: Tag) -> Bool { left.rawValue < right.rawValue }

  /// Four hexadecimal digits for people: enough to tell two peers of one name apart, not to name one for ever.
  public var short: String { String(description.prefix(4)) }

  /// Sixteen hexadecimal digits, in the order of the bytes on the wire.
  public var description: String { hexDigits(rawValue.byteSwapped) }
}

/// The secret part of an identity: sixteen random bytes. Only who shows it speaks for its tag. Never printed.
public struct Secret: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes, read little-endian.
  public var high: UInt64
  /// The last eight bytes, read little-endian.
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// One that nobody else has, from the system's randomness.
  public static func random() -> Secret {
    var random = SystemRandomNumberGenerator()
    return Secret(high: random.next(), low: random.next())
  }

  public var description: String { "Secret(…)" }
}

/// Who a peer is, from one start of its process to the end of that process.
public struct Identity: Hashable, Sendable {
  public var tag: Tag
  public var secret: Secret
  /// 1 to 64 bytes of UTF-8, for people, as `Names.checkPeer` allows; need not be unique.
  public var name: String

  /// The identity of who has that secret.
  public init(secret: Secret, name: String) { self.init(tag: Tag(of: secret), secret: secret, name: name) }

  /// As somebody says that it is: the tag may be another's (`isProven`).
  public init(tag: Tag, secret: Secret, name: String) {
    self.tag = tag
    self.secret = secret
    self.name = name
  }

  /// Whether the tag is that of the secret. Who says hello otherwise is refused.
  public var isProven: Bool { tag == Tag(of: secret) }

  /// What others see of it.
  public var origin: Origin { Origin(tag: tag, name: name) }
}

/// Who proposed a commit.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
  public var tag: Tag
  public var name: String

  public init(tag: Tag, name: String) {
    self.tag = tag
    self.name = name
  }

  /// Nobody: the origin of a field that has never been written.
  public static let none = Origin(tag: .none, name: "")

  public var description: String { "\(shownName)#\(tag.short)" }

  /// The name, told apart from others that are the same, as people and scripts read it: `kitchen-3f2a`. Pages have such
  /// names already.
  public var fullName: String { shownName.hasSuffix("-\(tag.short)") ? shownName : "\(shownName)-\(tag.short)" }

  /// The name as it may be shown: a log or a hub may hold one from before such names were refused.
  public var shownName: String { PrintedText.escaped(name) }
}

/// Sixteen lower-case hexadecimal digits, the highest first.
func hexDigits(_ number: UInt64) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}
