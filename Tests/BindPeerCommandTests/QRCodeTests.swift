import Foundation
import Testing

@testable import BindingTerminal

@Suite("QR codes")
struct QRCodeTests {
  /// A text and its code, by another encoder.
  private struct Vector {
    let text: String
    let rows: [String]

    static func all() throws -> [Vector] {
      let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("QRVectors")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".txt") }
      return try names.sorted().map { name in
        let file = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        let lines = file.split(separator: "\n").map(String.init)
        return Vector(text: lines[0], rows: Array(lines.dropFirst()))
      }
    }

    /// The mask that the other encoder has chosen: three bits of the format, which has a pattern of its own over it.
    var mask: Int {
      let bits = [2, 3, 4].map { rows[8][rows[8].index(rows[8].startIndex, offsetBy: $0)] == "#" }
      return bits.reduce(0) { $0 << 1 | ($1 ? 1 : 0) } ^ 0b101
    }
  }

  private static func rows(_ code: QRCode) -> [String] {
    (0..<code.size).map { row in String((0..<code.size).map { code[row, $0] ? "#" : "." }) }
  }

  @Test("the code of a text is that of another encoder, in each version from 1 to 13")
  func vectors() throws {
    let vectors = try Vector.all()
    #expect(Set(vectors.map(\.rows.count)) == Set(stride(from: 21, through: 69, by: 4)))
    for vector in vectors {
      let code = try #require(QRCode(vector.text, mask: vector.mask))
      #expect(QRCodeTests.rows(code) == vector.rows, "\(vector.text)")
    }
  }

  @Test("the mask is the one with the least penalty, and never worse than another encoder's")
  func mask() throws {
    for vector in try Vector.all() {
      let code = try #require(QRCode(vector.text))
      let penalties = try (0...7).map { try #require(QRCode(vector.text, mask: $0)).penalty }
      #expect(code.penalty == penalties.min() && penalties[code.mask] == code.penalty)
      #expect(code.penalty <= penalties[vector.mask])
    }
    #expect(Set(try Vector.all().map { try #require(QRCode($0.text)).mask }).count > 3)
  }

  @Test("a text of 331 bytes has a code, a longer one has none")
  func longest() {
    #expect(QRCode(String(repeating: "x", count: QRCode.maxBytes))?.size == 69)
    #expect(QRCode(String(repeating: "x", count: QRCode.maxBytes + 1)) == nil)
    #expect(QRCode("")?.size == 21)
  }

  @Test("the lines for a terminal show each module in black or white, with a margin of four")
  func lines() throws {
    let code = try #require(QRCode("https://panel.example/?code=0123456789abcdef0123456789abcdef"))
    let (start, end) = ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[0m")
    var rows: [[Bool]] = []
    for line in code.lines {
      try #require(line.hasPrefix(start) && line.hasSuffix(end))
      let modules = line.dropFirst(start.count).dropLast(end.count)
      rows.append(modules.map { "█▀".contains($0) })
      rows.append(modules.map { "█▄".contains($0) })
      #expect(modules.allSatisfy { "█▀▄ ".contains($0) })
    }
    #expect(rows.count == code.size + 9 && rows.allSatisfy { $0.count == code.size + 8 })
    for (row, line) in rows.enumerated() {
      for (column, isDark) in line.enumerated() { #expect(isDark == code[row - 4, column - 4]) }
    }
  }
}
