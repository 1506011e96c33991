import Foundation
import Testing

@testable import BindingPeer

@Suite("The texts of docs/reference/vectors/text")
struct TextVectorTests {
  private struct Row: Decodable {
    var base: String
    var first: String
    var second: String
    var becomes: String
  }

  @Test("each text vector merges to the same result as in a page")
  func merges() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let file = root.appendingPathComponent("docs/reference/vectors/text/merges.json")
    let rows = try JSONDecoder().decode([Row].self, from: Data(contentsOf: file))
    #expect(rows.count >= 800)
    for row in rows {
      let merged = TextMerge.merge(base: row.base, first: row.first, second: row.second)
      #expect(merged.utf8.elementsEqual(row.becomes.utf8), "\(row): \(merged)")
    }
  }
}
