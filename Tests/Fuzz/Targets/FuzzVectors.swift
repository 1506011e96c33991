import BindingProtocol
import Foundation

/// The frames of docs/reference/vectors, valid and broken, as seeds.
enum FuzzVectors {
  /// The session and start number of their headers.
  static let session: SessionID = 0x8877_6655_4433_2211
  static let start: StartNumber = 0xA1B2_C3D4

  /// The frames in one direction.
  static func frames(toHub: Bool) -> [[UInt8]] {
    // Tests/Fuzz/Targets/FuzzVectors.swift → docs/reference/vectors
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let direction: JSON = toHub ? "peer to hub" : "hub to peer"
    var frames: [[UInt8]] = []
    for folder in ["wire", "bad"] {
      let folder = root.appendingPathComponent("docs/reference/vectors/\(folder)")
      let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      for file in files.sorted() {
        guard let data = try? Data(contentsOf: folder.appendingPathComponent(file)),
          let json = try? JSON(parsing: Array(data)), json["direction"] == direction, let hex = json["hex"]?.string
        else { continue }
        frames.append(bytes(hexadecimal: hex))
      }
    }
    return frames
  }

  private static func bytes(hexadecimal text: String) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
    }
  }
}
