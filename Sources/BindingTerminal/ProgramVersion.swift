import BindingProtocol

/// The version of the programs and of the packages that contain them.
public enum ProgramVersion {
  /// By semantic versioning. It stands here and nowhere else; `scripts/lint` compares that of the Python package.
  public static let number = "0.1.0"

  /// What `--version` prints: of the program, its protocol and the libraries that it found.
  public static func line(of program: String, libraries: [String]) -> String {
    (["\(program) \(number)", "protocol 0", Capability.draft] + libraries).joined(separator: ", ")
  }
}
