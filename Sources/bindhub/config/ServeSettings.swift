import BindingProtocol
import BindingTerminal
import BindingWeb
import Foundation

/// What the options of `bindhub serve` are, and who says so. The first of these that names an option counts: the
/// command line, the environment, a file of options.
struct ServeSettings {
  enum Source: Equatable {
    case commandLine
    case variable(String)
    case line(Int)
  }
  struct Setting: Equatable {
    let name: String
    var values: [String]
    let source: Source
  }
  /// A sentence, and the exit code of the program that cannot start.
  struct Problem: Error, Equatable {
    let text: String
    let code: Int32
  }

  /// The file of options; nil: none is named.
  let file: String?
  /// In the order in which they are shown; at most one for each option.
  private(set) var settings: [Setting] = []
  private let typed: [String]

  /// - Parameters:
  ///   - words: what follows the command's name.
  ///   - read: returns the content of a file.
  init(
    _ words: [String], environment: [String: String], read: (String) throws(Problem) -> String
  ) throws(Problem) {
    typed = words
    let onLine = ServeSettings.settings(of: words)
    let inEnvironment = environment["BINDHUB_CONFIG"] ?? ""
    let named = ServeSettings.value(of: "config", in: words) ?? (inEnvironment.isEmpty ? nil : inEnvironment)
    file = named.map(absolutePath)
    var inFile: [Setting] = []
    if let file { inFile = try OptionsFile(try read(file), at: file).settings }
    for option in ServeOption.all {
      if let typed = onLine.first(where: { $0.name == option.name }) {
        settings.append(typed)
      } else if let text = environment[option.variable], !text.isEmpty {
        let values = try option.values(of: text, from: option.variable)
        settings.append(Setting(name: option.name, values: values, source: .variable(option.variable)))
      } else if let found = inFile.first(where: { $0.name == option.name }) {
        settings.append(found)
      }
    }
  }

  /// Those of this process.
  static func ofProcess(_ words: [String]) throws(Problem) -> ServeSettings {
    try ServeSettings(words, environment: ProcessInfo.processInfo.environment, read: OptionsFile.read)
  }

  /// Whether any is not on the command line.
  var isMixed: Bool { settings.contains { $0.source != .commandLine } }

  /// The words of the command with all options.
  var words: [String] {
    typed
      + settings.filter { $0.source != .commandLine }.flatMap { setting -> [String] in
        guard let option = ServeOption.named(setting.name) else { return [] }
        switch option.kind {
        case .value, .list: return setting.values.map { "--\(option.name)=\($0)" }
        case .pair: return ["--\(option.name)"] + setting.values
        case .flag: return setting.values == ["yes"] ? ["--\(option.name)"] : []
        case .address: return setting.values == ["no"] ? [] : setting.values.map { "--\(option.name)=\($0)" }
        }
      }
  }

  // MARK: The command line

  /// The value of an option that has one; the last counts.
  private static func value(of name: String, in words: [String]) -> String? {
    for index in words.indices.reversed() {
      if words[index].hasPrefix("--\(name)=") { return String(words[index].dropFirst(name.count + 3)) }
      if words[index] == "--\(name)" { return words.indices.contains(index + 1) ? words[index + 1] : nil }
    }
    return nil
  }

  private static func settings(of words: [String]) -> [Setting] {
    var found: [Setting] = []
    for index in words.indices where words[index].hasPrefix("--") {
      let parts = words[index].dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let option = parts.first.flatMap({ ServeOption.named(String($0)) }) else { continue }
      let next = words[(index + 1)...].prefix { !$0.hasPrefix("-") }
      let values =
        parts.count == 2
        ? [String(parts[1])]
        : option.kind == .flag || next.isEmpty
          ? [option.yes] : Array(next.prefix(option.kind == .pair ? 2 : 1))
      if let same = found.firstIndex(where: { $0.name == option.name }) {
        found[same].values = option.kind == .list ? found[same].values + values : values
      } else {
        found.append(Setting(name: option.name, values: values, source: .commandLine))
      }
    }
    return found
  }
}

extension ServeOption {
  /// The values in a text of one line.
  /// - Parameter place: where it stands, for people.
  func values(of text: String, from place: String) throws(ServeSettings.Problem) -> [String] {
    switch kind {
    case .value: return [text]
    case .list, .pair:
      let values = text.split(whereSeparator: \.isWhitespace).map(String.init)
      guard kind == .list || values.count == 2 else {
        throw ServeSettings.Problem(text: "\(place): \(name) takes two values, not \(values.count)", code: 78)
      }
      return values
    case .address: return [ServeOption.answer(text).map { $0 == "yes" ? yes : $0 } ?? text]
    case .flag:
      guard let answer = ServeOption.answer(text) else {
        throw ServeSettings.Problem(text: "\(place): \(name) is yes or no, not \(excerpt(text, limit: 40))", code: 78)
      }
      return [answer]
    }
  }

  /// What it means that it is there without a value.
  fileprivate var yes: String { kind == .address ? WebAddress.standard.description : "yes" }

  private static func answer(_ text: String) -> String? {
    switch text.lowercased() {
    case "yes", "true", "on": "yes"
    case "no", "false", "off": "no"
    default: nil
    }
  }
}

extension Serve {
  /// Whether a command takes the options of `bindhub serve`.
  static func takesOptions(_ verb: String) -> Bool { verb == "serve" || verb == "config" }

  /// Where it listens; empty if that cannot be told.
  var listeners: [HubAddress] { (try? addresses()) ?? [] }
}
