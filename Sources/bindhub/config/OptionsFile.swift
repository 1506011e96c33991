import BindingTerminal
import Foundation

/// A file with the options of `bindhub serve`: `name = value`, a line each, and comments after `#`.
struct OptionsFile {
  /// The most bytes that it may have.
  private static let largest = 1_000_000

  private(set) var settings: [ServeSettings.Setting] = []

  /// - Parameter path: absolute. Relative paths in the file begin at its directory.
  init(_ text: String, at path: String) throws(ServeSettings.Problem) {
    let folder = (path as NSString).deletingLastPathComponent
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      guard let (name, value) = OptionsFile.parts(of: String(line)) else { continue }
      let place = "\(path):\(index + 1)"
      guard let option = ServeOption.named(name) else {
        let near = nearest(to: name, among: ServeOption.all.map(\.name))
        let hint = near.map { ". Did you mean '\($0)'?" } ?? ". To see all:  bindhub serve --help"
        throw .init(text: "\(place): bindhub serve has no option '\(excerpt(name, limit: 40))'\(hint)", code: 78)
      }
      guard let value = value ?? (option.kind == .flag || option.kind == .address ? "yes" : nil), !value.isEmpty else {
        throw .init(text: "\(place): \(name) has no value. Write:  \(name) = VALUE", code: 78)
      }
      let values = try option.values(of: value, from: place).map { option.isPath ? full($0, in: folder) : $0 }
      if let same = settings.firstIndex(where: { $0.name == option.name }) {
        guard option.kind == .list else {
          throw .init(text: "\(place): \(name) is in the file twice. Omit one", code: 78)
        }
        settings[same].values += values
      } else {
        settings.append(.init(name: option.name, values: values, source: .line(index + 1)))
      }
    }
  }

  /// The name and the value of a line; nil: it has none.
  private static func parts(of line: String) -> (name: String, value: String?)? {
    var text = Substring(line)
    let marks = line.indices.filter { line[$0] == "#" }
    if let mark = marks.first(where: { $0 == line.startIndex || line[line.index(before: $0)].isWhitespace }) {
      text = line[..<mark]
    }
    let trimmed = text.trimmingCharacters(in: .whitespaces)
    guard !trimmed.isEmpty else { return nil }
    guard let sign = trimmed.firstIndex(of: "=") else { return (trimmed, nil) }
    return (
      trimmed[..<sign].trimmingCharacters(in: .whitespaces),
      trimmed[trimmed.index(after: sign)...].trimmingCharacters(in: .whitespaces)
    )
  }

  /// A path that means the same wherever the program starts; what is none stays.
  private func full(_ value: String, in folder: String) -> String {
    if value == "memory" || value.contains("://") || value.hasPrefix("/") || value.hasPrefix("~") { return value }
    return "\(folder)/\(value)"
  }

  /// The content of a file.
  static func read(_ path: String) throws(ServeSettings.Problem) -> String {
    let cure = "Name another:  bindhub serve --config FILE"
    var bytes = [UInt8](repeating: 0, count: largest + 1)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw .init(text: "Cannot read \(path): \(StandardStreams.words(errno)). \(cure)", code: 78)
    }
    defer { close(descriptor) }
    var count = 0
    while count < bytes.count {
      let offset = count
      let more = bytes.withUnsafeMutableBytes { buffer in
        buffer.baseAddress.map { Foundation.read(descriptor, $0 + offset, buffer.count - offset) } ?? 0
      }
      guard more >= 0 else {
        throw .init(text: "Cannot read \(path): \(StandardStreams.words(errno)). \(cure)", code: 78)
      }
      if more == 0 { break }
      count += more
    }
    guard count <= largest else {
      throw .init(text: "\(path) has more than \(largest) bytes. \(cure)", code: 78)
    }
    guard let text = String(validating: bytes[..<count], as: UTF8.self) else {
      throw .init(text: "\(path) is not UTF-8 text. \(cure)", code: 78)
    }
    return text
  }
}
