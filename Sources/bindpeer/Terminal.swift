import BindingPeer
import BindingTerminal
import Foundation
import Logging

/// An unsuccessful end of a verb.
struct Failure: Error {
  enum Code: Int32 {
    case no = 1
    case conflict = 3
    case usage = 64
    case doesNotFit = 65
    case noHub = 69
    case ourBug = 70
    case missingTool = 72
    case cannotCreate = 73
    case cannotWrite = 74
    case timedOut = 75
    case otherProtocol = 76
    case notPermitted = 77
    case refusedConfiguration = 78
    case interrupted = 130
  }
  let code: Code
  let text: String

  init(_ code: Code, _ text: String) {
    self.code = code
    self.text = text
  }
}

/// Output: data on standard output, everything else on standard error, flushed line by line.
enum Terminal {
  static let logger: Logger = {
    var logger = Logger(label: "bindpeer") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = environment("BINDPEER_LOG").flatMap(Logger.Level.init(rawValue:)) ?? .error
    return logger
  }()

  /// Whether standard output is a terminal that supports colour.
  static let isColoured = isatty(1) == 1 && environment("NO_COLOR") == nil && environment("TERM") != "dumb"

  /// Whether standard output is a screen, on which secret values are hidden.
  static let isScreen = isatty(1) == 1

  /// The value of a variable; nil if it is empty or unset.
  static func environment(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  static func print(_ line: String) { StandardStreams.print(line) }

  static func print(_ json: JSON) { StandardStreams.print(bytes: json.bytes) }

  static func complain(_ line: String) { StandardStreams.complain(line) }

  static func leave(_ code: Failure.Code) -> Never { exit(code.rawValue) }

  static func dim(_ text: String) -> String { isColoured ? "\u{1B}[2m\(text)\u{1B}[0m" : text }

  /// The number of further commits that a line represents; empty for none.
  static func coalesced(_ count: Int) -> String { count > 0 ? dim("        (+\(count) coalesced)") : "" }

  /// `20:14:03.118`: the local wall time of `milliseconds` since 1970.
  static func clock(_ milliseconds: UInt64) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "HH:mm:ss.SSS"
    return formatter.string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
  }

  /// A value for display in one line: no control characters, no direction marks, bounded length.
  static func readable(_ value: FieldValue?, limit: Int = 200) -> String {
    value.map { excerpt($0.description, limit: limit) } ?? "none"
  }
}

extension String {
  /// With blanks behind it, up to a number of columns.
  func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns)) }
}

extension SharedModel {
  /// The values of the fields that programs write; the other names are the protocol's.
  var fields: [String: FieldValue] { values.filter { !$0.key.hasPrefix("@") } }

  /// Says which values are secret, also for the ephemeral fields of a model.
  var shownDescription: ModelDescription { (stored ?? self).modelDescription }

  /// A value for display in one line; that of a secret field is hidden on a screen, unless it is asked for.
  func readable(
    _ value: FieldValue?, of field: String, revealing: Bool = false, onScreen: Bool = Terminal.isScreen,
    limit: Int = 200
  ) -> String {
    shownDescription.readable(value, of: field, revealing: revealing, onScreen: onScreen, limit: limit)
  }
}

extension ModelDescription {
  /// A value for display in one line; that of a secret field is hidden on a screen, unless it is asked for. An element
  /// of a list shows without its rank.
  func readable(
    _ value: FieldValue?, of field: String, revealing: Bool = false, onScreen: Bool = Terminal.isScreen,
    limit: Int = 200
  ) -> String {
    let name = ListElements.parts(of: field).map { String($0.list) } ?? field
    let isHidden = value != nil && !revealing && onScreen && fields[name]?.isSecret == true
    let shown = FieldTitle.value(value, of: field)
    return isHidden ? "(secret; get --reveal shows it)" : Terminal.readable(shown, limit: limit)
  }
}
