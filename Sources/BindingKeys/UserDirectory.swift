import Foundation

/// Where this user's files are (the XDG base directories).
package enum UserDirectory {
  /// This user's home: `HOME`, as in every shell, else the one that the system knows.
  package static var home: String { absolute("HOME") ?? NSHomeDirectory() }

  /// The directory that a variable names, else the one in the home.
  package static func base(_ variable: String, else folder: String) -> String {
    absolute(variable) ?? home + "/" + folder
  }

  private static func absolute(_ variable: String) -> String? {
    ProcessInfo.processInfo.environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
