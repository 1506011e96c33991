import ArgumentParser
import BindingPeer
import BindingTerminal
import Foundation

/// Which earlier commits are meant.
struct PastOptions: ParsableArguments {
  @Option(help: "Only commits that changed this field; can be repeated.")
  var field: [String] = []
  @Option(
    name: .customLong("by"),
    help: "Only commits of this writer: a name, a user, or a name with the tag's first digits. Can be repeated.")
  var writers: [String] = []
  @Option(help: "Only commits from then on: a time such as 14:03 or 2026-11-25T14:03, or how long ago, such as 1h.")
  var since: PastTime?
  @Option(help: "Only commits before then.")
  var until: PastTime?

  /// The query that these options and an address make.
  func query(of address: Address) throws(Failure) -> SharedModel.HistoryQuery {
    var query = SharedModel.HistoryQuery()
    query.fields = (address.wireField.map { [$0] } ?? []) + field
    for field in query.fields { _ = try Address("\(address.model).\(field)") }
    guard query.fields.count < 256, writers.count < 256 else {
      throw Failure(.usage, "Name at most 255 fields and 255 writers")
    }
    query.writers = writers
    query.since = since?.milliseconds
    query.until = until?.milliseconds
    return query
  }
}

/// A time in the past: how long ago, or a local date or time of day.
struct PastTime: ExpressibleByArgument {
  /// Milliseconds since 1970.
  let milliseconds: UInt64

  init?(argument: String) {
    let now = Date()
    if argument.last.map({ !$0.isNumber }) == true, let span = TimeSpan(argument: argument) {
      let present = UInt64(max(now.timeIntervalSince1970, 0) * 1_000)
      milliseconds = present - min(present, span.milliseconds)
      return
    }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.isLenient = false
    let day = PastTime.day(of: now)
    // A time of day alone is one of today.
    for (format, text) in [
      ("yyyy-MM-dd'T'HH:mm:ss", argument), ("yyyy-MM-dd'T'HH:mm", argument), ("yyyy-MM-dd HH:mm:ss", argument),
      ("yyyy-MM-dd HH:mm", argument), ("yyyy-MM-dd", argument), ("yyyy-MM-dd HH:mm:ss", "\(day) \(argument)"),
      ("yyyy-MM-dd HH:mm", "\(day) \(argument)"),
    ] {
      formatter.dateFormat = format
      guard let date = formatter.date(from: text), date.timeIntervalSince1970 >= 0 else { continue }
      milliseconds = UInt64(date.timeIntervalSince1970 * 1_000)
      return
    }
    return nil
  }

  private static func day(of date: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "yyyy-MM-dd"
    return formatter.string(from: date)
  }

  /// `20:14:03` for a time of today, else `11-25 20:14:03`, with the year before this one.
  static func shown(_ milliseconds: UInt64, now: Date = Date()) -> String {
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    let calendar = Calendar(identifier: .gregorian)
    if calendar.isDate(date, inSameDayAs: now) {
      formatter.dateFormat = "HH:mm:ss"
    } else if calendar.component(.year, from: date) == calendar.component(.year, from: now) {
      formatter.dateFormat = "MM-dd HH:mm:ss"
    } else {
      formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
    }
    return formatter.string(from: date)
  }

  /// How long ago a time is, in words of one unit.
  static func age(of milliseconds: UInt64, now: Date = Date()) -> String {
    let seconds = max(0, now.timeIntervalSince1970 - Double(milliseconds) / 1_000)
    switch seconds {
    case ..<1: return "now"
    case ..<120: return "\(Int(seconds)) s ago"
    case ..<7_200: return "\(Int(seconds / 60)) min ago"
    case ..<172_800: return "\(Int(seconds / 3_600)) h ago"
    default: return "\(Int(seconds / 86_400)) d ago"
    }
  }
}

/// The address of a commit: a version of the newest epoch that has it, or of a named one.
struct PastAddress: ExpressibleByArgument {
  let epoch: Epoch?
  let version: Version

  init?(argument: String) {
    let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count <= 2, let last = parts.last, let version = Version(last), version < .max else { return nil }
    self.version = version
    if parts.count == 2 {
      guard let epoch = Epoch(parts[0], radix: 16), epoch > 0 else { return nil }
      self.epoch = epoch
    } else {
      epoch = nil
    }
  }
}

extension Failure {
  /// Why there is no history.
  init(_ error: any Error, of model: String, from peer: Peer) {
    guard let error = error as? SharedModel.HistoryError else {
      self.init(.ourBug, "\(error)")
      return
    }
    switch error {
    case .notPermitted: self.init(.notPermitted, "refused: \(model): \(error)")
    case .noAnswer where peer.status.waitsForUpstream: self = .cutOff(from: "the history of \(model)")
    case .noAnswer: self.init(.timedOut, "\(model): \(error). Try a longer --timeout.")
    case .hubTooOld: self.init(.otherProtocol, "\(error).")
    case .stopped(let reason): self = reason.failure
    case .ephemeral, .unreadable, .notShared, .cancelled: self.init(.no, "\(model): \(error).")
    }
  }
}

extension SharedModel.Horizon {
  /// Why there is nothing older, in a sentence; nil: there never was.
  func words(of model: String) -> String? {
    switch reason {
    case .beginning: nil
    case .notKept: "Commits of \(model) before version \(version) are no longer kept."
    case .renumbered:
      "Commits of \(model) before version \(version) cannot be shown: names of deleted fields were given back then."
    case .start: "The hub keeps \(model) in memory, and its history begins with the hub, at version \(version)."
    }
  }
}

/// Lines whose columns are aligned.
struct AlignedLines {
  private var rows: [[String]] = []

  mutating func add(_ columns: [String]) { rows.append(columns) }

  /// Prints them; the last column is not padded, and the columns with these indices are dim on a terminal.
  func print(dim: Swift.Set<Int> = [], right: Swift.Set<Int> = []) {
    let count = rows.map(\.count).max() ?? 0
    let widths = (0..<count).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    for row in rows {
      let cells = row.enumerated().map { column, text in
        let space = String(repeating: " ", count: column == row.count - 1 ? 0 : widths[column] - text.count)
        let cell = right.contains(column) ? space + text : text + space
        return dim.contains(column) ? Terminal.dim(cell) : cell
      }
      Terminal.print(cells.joined(separator: "  "))
    }
  }
}
