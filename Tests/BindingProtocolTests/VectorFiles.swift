import BindingProtocol
import Foundation

/// The files under docs/reference/vectors/.
enum VectorFiles {
  /// Tests/BindingProtocolTests/VectorFiles.swift → docs/reference/vectors
  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("docs/reference/vectors")

  /// Whether to rewrite the files instead of comparing with them: set BINDBUS_WRITE_VECTORS=1.
  static let mayWrite = ProcessInfo.processInfo.environment["BINDBUS_WRITE_VECTORS"] == "1"

  static func names(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(directory).path)
      .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
  }

  static func read(_ directory: String, _ name: String) throws -> JSON {
    let url = folder.appendingPathComponent(directory).appendingPathComponent(name + ".json")
    return try JSON(parsing: [UInt8](Data(contentsOf: url)))
  }

  static func write(_ json: JSON, _ directory: String, _ name: String) throws {
    let directory = folder.appendingPathComponent(directory)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try Data((lines(json, indent: "") + "\n").utf8).write(to: directory.appendingPathComponent(name + ".json"))
  }

  /// Readable JSON: one line where it fits, else one line per member or element.
  private static func lines(_ json: JSON, indent: String) -> String {
    let short = json.text
    if short.utf8.count + indent.utf8.count <= 100 { return short }
    let inner = indent + "  "
    switch json {
    case .array(let elements):
      return "[\n" + elements.map { inner + lines($0, indent: inner) }.joined(separator: ",\n") + "\n\(indent)]"
    case .object(let members):
      let parts = members.map { inner + JSON.string($0.name).text + ": " + lines($0.value, indent: inner) }
      return "{\n" + parts.joined(separator: ",\n") + "\n\(indent)}"
    default: return short
    }
  }
}

/// Returns the bytes as hexadecimal digits.
func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Returns the bytes of hexadecimal digits, or nil if the text is not hexadecimal.
func bytes(hexadecimal text: String) -> [UInt8]? {
  let digits = Array(text.utf8)
  guard digits.count % 2 == 0 else { return nil }
  var bytes: [UInt8] = []
  for index in stride(from: 0, to: digits.count, by: 2) {
    guard let byte = UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16) else { return nil }
    bytes.append(byte)
  }
  return bytes
}
