import Foundation

/// A process in words for a person.
enum ProcessName {
  /// `process 4711 (kiosk)`, or without the name where the system does not tell it.
  static func words(_ process: Int32) -> String {
    guard let data = FileManager.default.contents(atPath: "/proc/\(process)/comm") else { return "process \(process)" }
    let name = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return name.isEmpty ? "process \(process)" : "process \(process) (\(name))"
  }
}
