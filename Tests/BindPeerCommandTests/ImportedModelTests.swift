import Testing

@testable import BindingPeer
@testable import bindpeer

@Suite("A line of `import`")
struct ImportedModelTests {
  private func read(_ text: String) throws(ImportedModel.Fault) -> ImportedModel { try ImportedModel(Array(text.utf8)) }

  @Test("what export and get --json print is a model, with its values byte for byte")
  func model() throws {
    let line = try read(
      #"{"model":"shop/a","version":7,"values":{"level":0.10,"name":"x"},"description":{"fields":{}}}"#)
    #expect(line.model == "shop/a" && line.values.map(\.name) == ["level", "name"])
    #expect(line.values[0].value == .json(try FieldValue(text: "0.10")))
    #expect(line.description?.bytes == Array(#"{"fields":{}}"#.utf8))
    #expect(try read(#"{"model":"a","values":{}}"#).description == nil)
  }

  @Test(
    "a line that is none says what it lacks",
    arguments: [
      ("[]", "is not a JSON object"), (#"{"model":"a","values":{}"#, "is not a JSON object"),
      (#"{"values":{}}"#, "names no model"), (#"{"model":7,"values":{}}"#, "names no model"),
      (#"{"model":"a/","values":{}}"#, "names no model"), (#"{"model":"a"}"#, #""values""#),
      (#"{"model":"a","values":[]}"#, #""values""#), (#"{"model":"a","values":{"@owner":1}}"#, "@owner"),
      (#"{"model":"a","values":{"":1}}"#, "has no field ''"),
      (#"{"model":"a","values":{},"description":1}"#, "description"),
    ])
  func fault(_ text: String, _ words: String) {
    #expect {
      _ = try read(text)
    } throws: {
      ($0 as? ImportedModel.Fault)?.words.contains(words) == true
    }
  }
}
