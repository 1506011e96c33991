import BindingPeer
import Foundation
import Logging

/// How a verb ends other than well.
struct Failure: Error {
  enum Code: Int32 {
    case no = 1
    case conflict = 3
    case usage = 64
    case doesNotFit = 65
    case noHub = 69
    case ourBug = 70
    case cannotCreate = 73
    case timedOut = 75
    case otherProtocol = 76
    case notPermitted = 77
    case interrupted = 130
  }
  let code: Code
  let text: String

  init(_ code: Code, _ text: String) {
    self.code = code
    self.text = text
  }
}

/// Words out: data on standard output, all else on standard error, flushed by the line.
enum Terminal {
  static let logger: Logger = {
    var logger = Logger(label: "bindpeer") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = environment("BINDPEER_LOG").flatMap(Logger.Level.init(rawValue:)) ?? .error
    return logger
  }()

  /// Whether standard output is a terminal that wants colour.
  static let isColoured = isatty(1) == 1 && environment("NO_COLOR") == nil && environment("TERM") != "dumb"

  static func environment(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

  static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  static func say(_ json: JSON) { say(json.text) }

  static func complain(_ line: String) {
    FileHandle.standardError.write(Data((line + "\n").utf8))
  }

  static func leave(_ code: Failure.Code) -> Never { exit(code.rawValue) }

  static func dim(_ text: String) -> String { isColoured ? "\u{1B}[2m\(text)\u{1B}[0m" : text }

  /// How many commits a line stands for besides its own; nothing for none.
  static func folded(_ count: Int) -> String { count > 0 ? dim("        (+\(count) folded)") : "" }

  /// `20:14:03.118`, the wall time of `milliseconds` since 1970 where this terminal is.
  static func clock(_ milliseconds: UInt64) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "HH:mm:ss.SSS"
    return formatter.string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
  }

  /// A value as a person reads it on a line: no control characters, no direction marks, and not without end.
  static func readable(_ value: FieldValue?, limit: Int = 200) -> String {
    guard let value else { return "none" }
    var text = ""
    for scalar in value.description.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
        text += "\\u{" + String(scalar.value, radix: 16) + "}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text.count > limit ? text.prefix(limit) + "… (\(text.count) characters)" : text
  }
}

/// The nearest of `names` to a misspelt one, if it is near at all.
func nearest(to name: String, among names: some Sequence<String>) -> String? {
  func distance(_ left: [Character], _ right: [Character]) -> Int {
    var row = Array(0...right.count)
    for (i, a) in left.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, b) in right.enumerated() {
        let substituted = diagonal + (a == b ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
      }
    }
    return row[right.count]
  }
  let letters = Array(name.lowercased())
  let best = names.map { ($0, distance(letters, Array($0.lowercased()))) }.min { $0.1 < $1.1 }
  return best.flatMap { $0.1 <= max(1, letters.count / 3) ? $0.0 : nil }
}
