import BindingProtocol
import Foundation

/// The file of rights beside a hub's keys, which a person edits and the hub never writes; and how a running hub is
/// asked to read it again.
extension HubKeys {
  /// The path of the file of rights.
  package var accessPath: String { directory + "/access.json" }
  private var requestPath: String { directory + "/access.request" }
  private var answerPath: String { directory + "/access.answer" }

  /// Whether there is a file of rights, readable or not.
  package var haveAccess: Bool { access(accessPath, F_OK) == 0 }

  /// Reads the file of rights.
  /// - Returns: nil if there is none.
  /// - Throws: `KeyError.exposed` if other users can change it.
  package func readAccess() throws(KeyError) -> String? {
    try PrivateFile.read(accessPath, isSecret: false).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Writes the first file of rights.
  /// - Throws: `KeyError.exists` if there is one.
  package func createAccess(_ text: String) throws(KeyError) { try PrivateFile.write(text, to: accessPath) }

  /// Asks a running hub to read the file of rights.
  /// - Returns: what its answer will name.
  package func requestAccess() throws(KeyError) -> String {
    let token = String(UInt64.random(in: 1 ... .max), radix: 16)
    try PrivateFile.write(token, to: requestPath, replaces: true)
    return token
  }

  /// What was asked last; nil: nothing.
  package func accessRequest() -> String? {
    guard let bytes = try? PrivateFile.read(requestPath, isSecret: false), bytes.count <= 64 else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The hub's answer to a request.
  /// - Parameter problem: why the rights of before stay in force; nil: those of the file are.
  package func answerAccess(_ token: String, problem: String?) throws(KeyError) {
    let json = JSON.object([
      .init("token", .string(token)), .init("problem", problem.map { .string($0) } ?? .null),
    ])
    try PrivateFile.write(json.text, to: answerPath, replaces: true)
  }

  /// The answer to a request, if the hub has given it.
  package func accessAnswer(to token: String) -> AccessAnswer? {
    guard let bytes = try? PrivateFile.read(answerPath, isSecret: false),
      let json = try? JSON(parsing: bytes), json["token"]?.string == token
    else { return nil }
    return json["problem"]?.string.map { .refused($0) } ?? .inForce
  }
}

/// What a hub answers to the request to read its file of rights.
package enum AccessAnswer: Hashable, Sendable {
  case inForce
  /// The rights of before stay.
  case refused(String)
}
