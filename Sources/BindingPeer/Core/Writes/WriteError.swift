public import BindingProtocol

/// Identifies a write of this process from `write` to its outcome.
public struct WriteID: Hashable, Sendable, Comparable {
  public let rawValue: UInt64

  public static func < (left: WriteID, right: WriteID) -> Bool { left.rawValue < right.rawValue }
}

/// Why a write was rejected. Nothing of it shows and nothing is sent.
public enum WriteError: Error, Hashable, Sendable {
  /// The session has ended permanently.
  case stopped(StopReason)
  /// The model has not been joined.
  case notJoined(model: String)
  /// The proposal has no operations.
  case empty
  case badName(WireError)
  /// A field appears twice in the proposal.
  case duplicateField(String)
  /// The operation lacks its value, or has one that it must not have.
  case valueMismatch(field: String, Verb)
  /// The value is not JSON. `problem` says where and what to write instead.
  case notJSON(field: String, problem: String)
  /// `add`, `max` and `min` need a number.
  case notANumber(field: String, problem: String)
  /// `union` needs a list.
  case notAList(field: String, problem: String)
  case valueTooLarge(field: String, bytes: Int, limit: Int)
  case proposalTooLarge(bytes: Int, limit: Int)
  case tooManyFields(count: Int, limit: Int)
  /// The proposal has more conditions, or entries of metadata, than the limit.
  case tooMany(what: String, count: Int, limit: Int)
  case nameTooLong(String, limit: Int)
  /// The write answers a commit that itself answered another, and so on. `origins` names the writers that answer each
  /// other: this peer, and the writer whose value it answers.
  case loop(hops: Int, limit: Int, origins: [String])
  /// This many writes, with this many bytes, already wait.
  case outboxFull(writes: Int, bytes: Int)
  /// This identity has used up its proposal numbers in this model.
  case numbersUsedUp
  /// The field is an element of a list, which the hub does not know.
  case hubWithoutLists(field: String)
}

extension WriteError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .stopped(let reason): "this peer has stopped (\(reason)); start a new one"
    case .notJoined(let model): "\(model) has not been joined"
    case .empty: "the write names no field"
    case .badName(let error): error.description
    case .duplicateField(let field): "\(field) appears twice in one write; write each field once"
    case .valueMismatch(let field, let verb):
      "\(field): \(verb) \(verb.takesValue ? "needs a value" : "takes no value")"
    case .notJSON(let field, let problem), .notANumber(let field, let problem), .notAList(let field, let problem):
      "\(field): \(problem)"
    case .valueTooLarge(let field, let bytes, let limit):
      "\(field): the value has \(bytes) bytes; the hub allows \(limit) "
        + "(\(field == Names.description ? "maxDescriptionBytes" : "maxValueBytes"))"
    case .proposalTooLarge(let bytes, let limit):
      "the write has \(bytes) bytes; the hub allows \(limit) (maxProposalBytes): write fewer fields at once"
    case .tooManyFields(let count, let limit):
      "the write names \(count) fields; the hub allows \(limit) (maxProposalFields)"
    case .tooMany(let what, let count, let limit): "the write has \(count) \(what); at most \(limit) are allowed"
    case .nameTooLong(let name, let limit): "the name \(name) is longer than \(limit) bytes"
    case .loop(let hops, let limit, let origins):
      "the write is number \(hops) in a chain in which \(origins.joined(separator: " and ")) answer each other; "
        + "maxHops is \(limit)"
    case .outboxFull(let writes, let bytes):
      "the outbox is full: \(writes) writes of \(bytes) bytes wait for the hub"
    case .hubWithoutLists(let field): ListError.hubWithoutLists(field)
    case .numbersUsedUp: "this peer has used up its write numbers in this model; restart it"
    }
  }
}
