import CZMQ

/// A public key of CurveZMQ (https://rfc.zeromq.org/spec/26): 32 bytes, written as 40 letters of Z85.
package struct PublicKey: Hashable, Sendable {
  package let bytes: [UInt8]

  /// Makes a key of 32 bytes; nil for any other number.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Z85.keyBytes else { return nil }
    self.bytes = bytes
  }

  /// Reads 40 letters of Z85; nil if the text is anything else.
  package init?(_ text: String) {
    guard let bytes = Z85.key(text) else { return nil }
    self.bytes = bytes
  }
}

extension PublicKey: CustomStringConvertible {
  /// The 40 letters of Z85.
  package var description: String { Z85.text(bytes) }
}

/// A secret key of CurveZMQ. It prints as `secret`: only ``text`` reveals it.
package struct SecretKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  package let bytes: [UInt8]

  /// Makes a key of 32 bytes; nil for any other number.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Z85.keyBytes else { return nil }
    self.bytes = bytes
  }

  /// Reads 40 letters of Z85; nil if the text is anything else.
  package init?(_ text: String) {
    guard let bytes = Z85.key(text) else { return nil }
    self.bytes = bytes
  }

  /// The 40 letters of Z85, for a file that only its owner may read.
  package var text: String { Z85.text(bytes) }

  package var description: String { "secret" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A secret key, and the public key that belongs to it.
package struct KeyPair: Hashable, Sendable {
  package let publicKey: PublicKey
  package let secretKey: SecretKey

  /// Draws a pair from the system's randomness.
  ///
  /// - Throws: `ENOTSUP` where libzmq was built without CURVE.
  package static func random() throws(ZeroMQError) -> KeyPair {
    var publicText = [CChar](repeating: 0, count: Z85.keyLetters + 1)
    var secretText = publicText
    try retryingInterruptions("zmq_curve_keypair") { zmq_curve_keypair(&publicText, &secretText) }
    return try KeyPair(publicText, secretText, "zmq_curve_keypair")
  }

  /// Computes the public key of a secret one.
  ///
  /// - Throws: `ENOTSUP` where libzmq was built without CURVE.
  package init(of secretKey: SecretKey) throws(ZeroMQError) {
    var publicText = [CChar](repeating: 0, count: Z85.keyLetters + 1)
    try retryingInterruptions("zmq_curve_public") { zmq_curve_public(&publicText, secretKey.text) }
    self = try KeyPair(publicText, Array(secretKey.text.utf8CString), "zmq_curve_public")
  }

  private init(_ publicText: [CChar], _ secretText: [CChar], _ call: String) throws(ZeroMQError) {
    let (publicText, secretText) = (Z85.string(publicText), Z85.string(secretText))
    guard let publicKey = PublicKey(publicText), let secretKey = SecretKey(secretText) else {
      throw ZeroMQError(code: ErrorName.invalid, call: call)
    }
    self.publicKey = publicKey
    self.secretKey = secretKey
  }
}

/// Z85 (https://rfc.zeromq.org/spec/32) for keys: four bytes are five letters, printable, none of them a quote or a
/// backslash.
private enum Z85 {
  static let keyBytes = 32
  static let keyLetters = 40
  private static let alphabet = Set(
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)

  static func key(_ text: String) -> [UInt8]? {
    guard text.utf8.count == keyLetters, text.utf8.allSatisfy(alphabet.contains) else { return nil }
    var bytes = [UInt8](repeating: 0, count: keyBytes)
    // nil for a group of letters above 2^32.
    return zmq_z85_decode(&bytes, text) == nil ? nil : bytes
  }

  /// - Parameter bytes: 32 of them.
  static func text(_ bytes: [UInt8]) -> String {
    var letters = [CChar](repeating: 0, count: keyLetters + 1)
    zmq_z85_encode(&letters, bytes, bytes.count)
    return string(letters)
  }

  static func string(_ letters: [CChar]) -> String {
    String(decoding: letters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
