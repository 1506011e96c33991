import BindingProtocol
package import ZeroMQ

/// The file of one pair of keys: a line of JSON that only its owner may read.
package enum KeyFile {
  /// Whose keys a file holds.
  package enum Kind: String, Sendable {
    case hub, peer
  }

  private static let version: Int64 = 1

  /// Draws a pair and writes it to a new file.
  /// - Throws: `KeyError.exists` if there is a file already.
  package static func create(_ kind: Kind, at path: String) throws(KeyError) -> KeyPair {
    try create(kind, at: path, notes: [])
  }

  /// - Parameter notes: what else the file is to say.
  static func create(_ kind: Kind, at path: String, notes: [JSON.Member]) throws(KeyError) -> KeyPair {
    var keys: KeyPair
    do throws(ZeroMQError) {
      // A public key is an argument of commands, where a dash begins an option.
      repeat { keys = try .random() } while keys.publicKey.description.hasPrefix("-")
    } catch {
      throw .unusable(path: path, problem: error.clause)
    }
    try write(keys, kind, to: path, notes: notes, replaces: false)
    return keys
  }

  /// Writes a pair, with what else the file is to say.
  static func write(
    _ keys: KeyPair, _ kind: Kind, to path: String, notes: [JSON.Member], replaces: Bool
  ) throws(KeyError) {
    let json = JSON.object(
      [
        .init("bindbus", "key"), .init("version", .integer(version)), .init("of", .string(kind.rawValue)),
        .init("public", .string("\(keys.publicKey)")), .init("secret", .string(keys.secretKey.text)),
      ] + notes)
    try PrivateFile.write(json.text + "\n", to: path, replaces: replaces)
  }

  /// Reads a pair.
  /// - Throws: `KeyError` if the file is missing, exposed, torn, of the other kind or of a newer release.
  package static func read(_ kind: Kind, at path: String) throws(KeyError) -> KeyPair {
    try content(kind, at: path).keys
  }

  /// Reads a pair, and what else the file says.
  static func content(_ kind: Kind, at path: String) throws(KeyError) -> (keys: KeyPair, notes: JSON) {
    guard
      let json = try PrivateFile.readJSON(
        "key", version, at: path, isSecret: true, otherwise: "is not a complete file of keys")
    else { throw .missing(path: path, kind: kind) }
    guard json["of"]?.string == kind.rawValue else {
      throw .malformed(path: path, problem: "does not hold the key of a \(kind.rawValue)")
    }
    guard let secret = json["secret"]?.string.flatMap({ SecretKey($0) }) else {
      throw .malformed(path: path, problem: "has no valid secret key")
    }
    let keys: KeyPair
    do throws(ZeroMQError) { keys = try KeyPair(of: secret) } catch {
      throw .unusable(path: path, problem: error.clause)
    }
    guard json["public"]?.string == "\(keys.publicKey)" else {
      throw .malformed(path: path, problem: "has a public key that does not belong to its secret one")
    }
    return (keys, json)
  }
}
