import BindingProtocol
import Testing

@Suite("Lines of a history")
struct HistoryLineTests {
  private let writer = Origin(tag: Tag(rawValue: 0x0102), name: "arm \"1\"", user: "anna")

  private func read(_ text: String) throws -> HistoryLine? { try HistoryLine(Array(text.utf8)) }

  @Test(
    "a value keeps its bytes through a line, and null is not a deletion",
    arguments: [
      "1e400", "123456789012345678901234567890", "0.10", "{ \"b\" : 1,\"a\":2}", "null", "\"\\u00e9\\n\"",
      "{\"$int\":\"18446744073709551615\"}",
    ])
  func exact(_ text: String) throws {
    let commit = RecordedCommit(
      model: "shop/kiosk-3", epoch: 1 << 62, version: 7, origin: writer, number: 5, hops: 2, time: 1_795_260_576_514,
      changes: [
        .init("f", try FieldValue(text: text)), .init("gone", nil),
        .init("@description", try FieldValue(text: "{}")),
      ])
    let line = HistoryLine(time: .max, .commit(commit, digest: .max))
    #expect(line.bytes.last == UInt8(ascii: "\n"))
    #expect(line.bytes.count { $0 == UInt8(ascii: "\n") } == 1)
    #expect(try HistoryLine(Array(line.bytes.dropLast())) == line)
  }

  @Test("a state and the beginning of a recording are read as they were written")
  func state() throws {
    let fields = [
      CommittedField(
        name: "a", value: try FieldValue(text: " 1.50"), version: 3, origin: writer, number: 1, time: 4),
      CommittedField(name: "b", value: nil, version: 9, origin: .none, number: 0, time: 0),
    ]
    let contents: [HistoryLine.Content] = [
      .state(.init(model: "@ephemeral/m", epoch: 2, version: 9, previous: 1, fields: fields), digest: 0),
      .state(.init(model: "m", epoch: 2, version: 9, previous: nil, fields: []), digest: nil),
      .recording(prefix: "", hub: "ipc:///run/hub.sock", log: 0xFFFF_FFFF_FFFF_FFFF),
    ]
    for content in contents {
      let line = HistoryLine(time: 1, content)
      #expect(try HistoryLine(Array(line.bytes.dropLast())) == line)
    }
  }

  @Test("the commits of a state stand in the order of their versions, each with all of its fields")
  func commits() throws {
    func field(_ name: String, _ version: Version) -> CommittedField {
      CommittedField(name: name, value: FieldValue(json: 1), version: version, origin: writer, number: 1, time: 0)
    }
    let state = RecordedState(
      model: "m", epoch: 1, version: 9, previous: nil, fields: [field("c", 7), field("a", 2), field("b", 7)])
    #expect(state.commits.map(\.version) == [2, 7])
    #expect(state.commits.map { $0.changes.map(\.field) } == [["a"], ["b", "c"]])
  }

  @Test(
    "a line that is not of the format says what is wrong",
    arguments: [
      ("{\"t\":1", "is not JSON"), ("[]", "has no 'e'"), ("{\"e\":\"commit\"}", "no number 't'"),
      ("{\"t\":1,\"e\":\"record\",\"format\":3}", "of a later release"),
      ("{\"t\":1,\"e\":\"commit\",\"m\":\"a b\"}", "bad name"),
      ("{\"t\":1,\"e\":\"commit\",\"m\":\"m\",\"changes\":[[\"f\",1]]}", "not a string of JSON"),
      ("{\"t\":1,\"e\":\"commit\",\"m\":\"m\",\"changes\":[[\"f\",\"1 2\"]]}", "a value that is not JSON"),
      ("{\"t\":1,\"e\":\"commit\",\"m\":\"m\",\"changes\":{}}", "no list 'changes'"),
      ("{\"t\":1,\"e\":\"commit\",\"m\":\"m\",\"changes\":[],\"epoch\":-1}", "no whole number"),
      (
        "{\"t\":1,\"e\":\"commit\",\"m\":\"m\",\"changes\":[],\"epoch\":1,\"version\":1,\"tag\":\"x\"}",
        "16 hexadecimal digits"
      ),
      ("{\"t\":1,\"e\":\"state\",\"m\":\"m\",\"fields\":[],\"version\":3,\"previous\":4}", "beyond its version"),
    ])
  func bad(_ text: String, _ words: String) throws {
    let error = try #require(throws: HistoryFormatError.self) { try read(text) }
    #expect(error.description.contains(words), "\(error)")
  }

  @Test("lines of other kinds, which peers write, are passed over")
  func others() throws { #expect(try read("{\"t\":1,\"e\":\"submit\",\"w\":1}") == nil) }
}
