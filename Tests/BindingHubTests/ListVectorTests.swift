import BindingProtocol
import Foundation
import Testing

/// The vectors of docs/reference/vectors/list, decided by a hub.
@Suite("The vectors of lists") struct ListVectorTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("docs/reference/vectors/list")
  private static let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".json") }.sorted()

  @Test("there are vectors of each verb and result")
  func areThere() { #expect(Self.files.count >= 25) }

  @Test("a hub decides what each vector says", arguments: files)
  func vector(_ file: String) throws {
    let bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(file)))
    let json = try JSON(parsing: bytes)
    var bench = ListBench()
    bench.write(.set("@description", #"{"fields":{"cues":{"policy":"list"}}}"#))
    for element in json["list"]?.elements ?? [] {
      bench.write(.insert(element[0]?.string ?? "", element[1]?.text ?? ""))
    }
    let before = pairs(&bench)
    let outcome = bench.write(
      (json["operations"]?.elements ?? []).map { operation in
        WireOperation(
          verb: Verb.allCases.first { "\($0)" == operation[0]?.string } ?? .clear,
          field: .name("cues@\(operation[1]?.string ?? "")"), value: operation[2].map { FieldValue(json: $0) })
      })
    if let becomes = json["becomes"] {
      #expect(pairs(&bench) == becomes)
      #expect(outcome?.refusal == nil)
      return
    }
    #expect(pairs(&bench) == before)
    if let code = json["refusal"]?.int64 { #expect(outcome?.refusal?.rawValue == UInt16(code)) }
    if json["unchanged"] != nil { #expect(outcome == .unchanged) }
    if let field = json["conflict"]?.string {
      guard case .conflict(let conflict)? = outcome else {
        Issue.record("\(String(describing: outcome))")
        return
      }
      #expect(conflict.field == field)
    }
  }

  private func pairs(_ bench: inout ListBench) -> JSON {
    _ = bench.ids()
    let fields = bench.hub.read().values.map { (name: $0.key, value: FieldValue(bytes: Array($0.value.utf8))) }
    return .array(
      ListElements.ordered("cues", in: fields).map { .array([.string($0.id), (try? $0.element.json) ?? .null]) })
  }
}
