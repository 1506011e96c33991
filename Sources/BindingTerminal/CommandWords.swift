public import ArgumentParser
import BindingProtocol

/// The words of a command line before they are parsed. Both programs share this preprocessing, which the parser
/// does not offer.
public struct CommandWords: Sendable {
  /// Options that many verbs accept, and so may stand before the verb, and that are followed by a value.
  public var valued: Set<String>
  /// Options that many verbs accept, and so may stand before the verb, and that have no value.
  public var flags: Set<String>
  /// Verbs of other programs that people type by habit, and the command to use here.
  public var habits: [String: String]
  /// Verbs that are followed by public keys, of which one in 85 begins with a dash.
  public var keyed: Set<String>

  /// Makes the rules of a program from its shared options and its hints.
  public init(valued: Set<String>, flags: Set<String>, habits: [String: String], keyed: Set<String> = []) {
    self.valued = valued
    self.flags = flags
    self.habits = habits
    self.keyed = keyed
  }

  /// Moves the verb to the front: `--hub ADDRESS get lamp` becomes `get --hub ADDRESS lamp`. Returns the words
  /// unchanged if a word that is no shared option stands before the verb.
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

  /// Moves keys that begin with a dash behind `--`, because the parser would take them for options. The verb is the
  /// first word.
  public func keysLast(_ words: [String]) -> [String] {
    guard let verb = words.first, keyed.contains(verb), !words.contains("--") else { return words }
    let keys = words.filter(CommandWords.isDashedKey)
    return keys.isEmpty ? words : words.filter { !CommandWords.isDashedKey($0) } + ["--"] + keys
  }

  /// Whether a word has the form of a key (ZeroMQ's Z85, 40 characters) that begins with a dash, and is no option.
  private static func isDashedKey(_ word: String) -> Bool {
    let isLetter = { (letter: Character) in letter.isASCII && (letter.isLetter || letter.isNumber) }
    guard word.utf8.count == 40, word.hasPrefix("-"),
      word.allSatisfy({ isLetter($0) || ".-:+=^!/*?&<>()[]{}@%$#".contains($0) })
    else { return false }
    let name = word.prefix { $0 != "=" }
    return name.count == word.count || !name.hasPrefix("--") || !name.allSatisfy { isLetter($0) || $0 == "-" }
  }

  /// The message for a first word that is not one of the program's verbs; nil if it is one, or if there is no word.
  public func complaint(_ words: [String], of program: any ParsableCommand.Type) -> String? {
    let verbs = program.configuration.subcommands.map { $0._commandName }
    guard let word = words.first, !word.hasPrefix("-"), word != "help", !verbs.contains(word) else { return nil }
    let own = verbs.first { word.count > 1 && $0.hasPrefix(word) } ?? nearest(to: word, among: verbs)
    let meant = habits[word] ?? own.map { "\(program._commandName) \($0)" }
    let hint = meant.map { " Did you mean:  \($0)" } ?? ""
    return "\(program._commandName) has no command '\(excerpt(word, limit: 40))'.\(hint)\n"
      + "Commands: \(verbs.joined(separator: " "))"
  }

  /// The number, from 1, of the first argument that is not UTF-8, and its readable part; nil if all are UTF-8.
  public static var unreadable: (number: Int, text: String)? {
    for number in 1..<max(1, Int(CommandLine.argc)) {
      guard let word = CommandLine.unsafeArgv[number], String(validatingCString: word) == nil else { continue }
      return (number, excerpt(String(cString: word), limit: 40))
    }
    return nil
  }
}

/// Untrusted text for use in a sentence: at most `limit` characters, without control characters or direction marks.
public func excerpt(_ text: String, limit: Int = 200) -> String {
  let shown = PrintedText.escaped(text, limit: limit)
  return text.unicodeScalars.count > limit ? "\(shown) (\(text.count) characters)" : shown
}

extension ParsableArguments {
  /// Ends the program as the parser prescribes: help or version on standard output with code 0, an error message on
  /// standard error with the parser's code.
  public static func leave(_ error: any Error) -> Never {
    let (code, text) = (exitCode(for: error).rawValue, fullMessage(for: error))
    if !text.isEmpty {
      if code == 0 { StandardStreams.print(text) } else { StandardStreams.complain(text) }
    }
    StandardStreams.leave(code)
  }
}

extension AsyncParsableCommand {
  /// Parses the words and runs the command, including `help`.
  public static func perform(_ words: [String]? = nil) async throws {
    var command = try parseAsRoot(words)
    if var asynchronous = command as? any AsyncParsableCommand {
      try await asynchronous.run()
    } else {
      try command.run()
    }
  }
}
