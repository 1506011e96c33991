public import ArgumentParser
import BindingProtocol

/// The words of a command line, before they are parsed: what the parser does not know of, both programs do alike.
public struct CommandWords: Sendable {
  /// Options that many verbs take, and so may stand before the verb: those that are followed by a value, and others.
  public var valued: Set<String>
  public var flags: Set<String>
  /// What people type who know other programs, and what it is called here.
  public var habits: [String: String]

  public init(valued: Set<String>, flags: Set<String>, habits: [String: String]) {
    self.valued = valued
    self.flags = flags
    self.habits = habits
  }

  /// The words with the verb first: `--hub ADDRESS get lamp` is `get --hub ADDRESS lamp`. As they are where something
  /// stands before the verb that may not.
  public func verbFirst(_ words: [String]) -> [String] {
    var index = 0
    while index < words.count, words[index].hasPrefix("-") {
      let name = words[index].prefix { $0 != "=" }
      if flags.contains(words[index]) || (valued.contains(String(name)) && name.count < words[index].count) {
        index += 1
      } else if valued.contains(words[index]) {
        index += 2
      } else {
        return words
      }
    }
    guard index > 0, index < words.count else { return words }
    return [words[index]] + words[..<index] + words[(index + 1)...]
  }

  /// What to say of a first word that is none of the program's verbs; nil if it is one, or no word at all.
  public func complaint(_ words: [String], of program: any ParsableCommand.Type) -> String? {
    let verbs = program.configuration.subcommands.map { $0._commandName }
    guard let word = words.first, !word.hasPrefix("-"), word != "help", !verbs.contains(word) else { return nil }
    let own = verbs.first { word.count > 1 && $0.hasPrefix(word) } ?? nearest(to: word, among: verbs)
    let meant = habits[word] ?? own.map { "\(program._commandName) \($0)" }
    let hint = meant.map { " Did you mean:  \($0)" } ?? ""
    return "'\(excerpt(word, limit: 40))' is no verb of \(program._commandName).\(hint)\n"
      + "Its verbs: \(verbs.joined(separator: " "))"
  }

  /// The number, from 1, of the first word whose bytes are no UTF-8, and what of it is readable; nil if all are.
  public static var unreadable: (number: Int, text: String)? {
    for number in 1..<max(1, Int(CommandLine.argc)) {
      guard let word = CommandLine.unsafeArgv[number], String(validatingCString: word) == nil else { continue }
      return (number, excerpt(String(cString: word), limit: 40))
    }
    return nil
  }
}

/// A text that somebody typed or that came from elsewhere, as it may stand in a sentence: no control characters, no
/// direction marks, and not without end.
public func excerpt(_ text: String, limit: Int = 200) -> String {
  let shown = PrintedText.escaped(text, limit: limit)
  return text.unicodeScalars.count > limit ? "\(shown) (\(text.count) characters)" : shown
}

extension ParsableArguments {
  /// Ends the program as the parser says: with help or version on standard output and 0, else with what was wrong.
  public static func leave(_ error: any Error) -> Never {
    let (code, text) = (exitCode(for: error).rawValue, fullMessage(for: error))
    if !text.isEmpty {
      if code == 0 { StandardStreams.print(text) } else { StandardStreams.complain(text) }
    }
    StandardStreams.leave(code)
  }
}

extension AsyncParsableCommand {
  /// Parses the words and does what they say, also where that is to help.
  public static func perform(_ words: [String]? = nil) async throws {
    var command = try parseAsRoot(words)
    if var asynchronous = command as? any AsyncParsableCommand {
      try await asynchronous.run()
    } else {
      try command.run()
    }
  }
}
