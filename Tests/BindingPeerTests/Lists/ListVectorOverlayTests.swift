import BindingProtocol
import Foundation
import Testing

@testable import BindingPeer

/// The vectors of docs/reference/vectors/list, which a hub decides too: what a peer shows before the hub has decided
/// is what the hub will commit.
@Suite("The vectors of lists, over a peer's replica") struct ListVectorOverlayTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("docs/reference/vectors/list")
  private static let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".json") }.sorted()

  @Test("there are vectors")
  func areThere() { #expect(Self.files.count >= 25) }

  @Test("pending operations show what the hub makes of them", arguments: files)
  func vector(_ file: String) throws {
    let json = try JSON(parsing: [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(file))))
    guard let becomes = json["becomes"] else { return }
    let list = json["list"]?.elements ?? []
    var bench = PeerBench()
    bench.capabilities = [Capability.lists]
    let entries = list.enumerated().map { index, element in
      let value = "{\"at\":\((index + 1) * 100),\"is\":\(element[1]?.text ?? "")}"
      return Entry(name: "cues@\(element[0]?.string ?? "")", value: value, version: 5)
    }
    bench.live(version: 5, entries)
    try bench.write(
      Proposal(
        operations: (json["operations"]?.elements ?? []).map { operation in
          FieldOperation(
            Verb.allCases.first { "\($0)" == operation[0]?.string } ?? .clear, "cues@\(operation[1]?.string ?? "")",
            operation[2].map { FieldValue(json: $0) })
        }))
    let shown = bench.session.shownList("lamp", "cues")
    let pairs = zip(shown?.ids ?? [], shown?.values ?? []).map { id, value in
      JSON.array([.string(id), (try? value.json) ?? .null])
    }
    #expect(JSON.array(pairs) == becomes)
  }
}
