/// A fault in bytes or names received from outside, and its location.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The message's name in the protocol, such as `propose`; `frame` before its kind is known; otherwise `name` or
  /// `value`.
  public var message: String
  /// The production or field of the grammar, such as `operations`.
  public var place: String
  /// What is wrong and what would be right.
  public var problem: String
  /// The offset of the fault in bytes, from the beginning of the frame (of the text, for `name` and `value`).
  public var offset: Int
  /// The code of the hub's answer: `malformed`, `badName` or `unknownKind`.
  public var code: ErrorCode

  package init(message: String, place: String, problem: String, offset: Int = 0, code: ErrorCode = .malformed) {
    self.message = message
    self.place = place
    self.problem = problem
    self.offset = offset
    self.code = code
  }

  public var description: String { "\(message): \(place) at byte \(offset): \(problem)" }
}

/// The reason for an `error` from the hub.
public enum ErrorCode: UInt16, Sendable, CaseIterable {
  case malformed = 1
  case staleStart
  case unknownSession
  case fenced
  case otherProtocol
  case tooManySessions
  case badName
  case notJoined
  case overLimit
  case notYours
  case tooManyTopics
  case closing
  case unknownKind
  case notPermitted
}
