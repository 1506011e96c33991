import BindingProtocol
import Foundation
import Testing

@Suite("The vectors of docs/reference/vectors", .serialized)
struct VectorTests {
  @Test("the vector files equal the ones that these tests generate")
  func filesAreCurrent() throws {
    for (file, vector) in GoodVectors.all {
      let json: JSON = [
        "message": .string(vector.name), "direction": .string(vector.direction),
        "hex": .string(hexadecimal(vector.bytes)), "content": vector.content,
      ]
      if VectorFiles.mayWrite { try VectorFiles.write(json, "wire", file) }
      #expect(try VectorFiles.read("wire", file) == json, "\(file)")
    }
    for bad in BadVectors.all {
      var members: [JSON.Member] = [
        .init("direction", .string(bad.direction)), .init("hex", .string(hexadecimal(bad.bytes))),
        .init("problem", .string(bad.problem)), .init("place", .string(bad.place)),
      ]
      if bad.error != 0 { members.append(.init("error", .integer(Int64(bad.error)))) }
      if !bad.isFatal { members.append(.init("fatal", false)) }
      if let refusal = bad.refusal { members.append(.init("refusal", .integer(Int64(refusal)))) }
      if VectorFiles.mayWrite { try VectorFiles.write(.object(members), "bad", bad.file) }
      #expect(try VectorFiles.read("bad", bad.file) == .object(members), "\(bad.file)")
    }
    for merge in MergeVectors.all {
      if VectorFiles.mayWrite { try VectorFiles.write(merge.json, "merge", merge.file) }
      #expect(try VectorFiles.read("merge", merge.file) == merge.json, "\(merge.file)")
    }
    #expect(try VectorFiles.names(in: "merge") == MergeVectors.all.map(\.file).sorted())
    #expect(try VectorFiles.names(in: "wire") == GoodVectors.all.map { $0.file }.sorted())
    #expect(try VectorFiles.names(in: "bad") == BadVectors.all.map { $0.file }.sorted())
  }

  @Test("the vectors cover every kind of message and every kind of outcome")
  func everyKindIsCovered() {
    let names = Set(GoodVectors.all.map { $0.vector.name })
    for kind in PeerMessageKind.allCases { #expect(names.contains(kind.name.description), "\(kind)") }
    for kind in HubMessageKind.allCases { #expect(names.contains(kind.name.description), "\(kind)") }
    let kinds = GoodVectors.all.flatMap { file -> [UInt8] in
      guard case .toPeer(.outcomes(let outcomes), _, _) = file.vector else { return [] }
      return outcomes.outcomes.map { $0.kind.rawValue }
    }
    #expect(Set(kinds) == Set(1...8))
  }

  @Test("the bytes of each vector decode into its content")
  func bytesToContent() throws {
    let files = try VectorFiles.names(in: "wire")
    #expect(files.count >= 23)
    for file in files {
      let json = try VectorFiles.read("wire", file)
      let frame = try #require(json["hex"]?.string.flatMap { bytes(hexadecimal: $0) }, "\(file)")
      let vector = try Vector.decode(frame, direction: json["direction"]?.string ?? "")
      #expect(vector.content == json["content"], "\(file)")
      #expect(vector.name == json["message"]?.string, "\(file)")
    }
  }

  @Test("the content of each vector encodes into its bytes")
  func contentToBytes() throws {
    for file in try VectorFiles.names(in: "wire") {
      let json = try VectorFiles.read("wire", file)
      var problems: [String] = []
      let vector = try #require(Vector.read(json["content"] ?? .null, problems: &problems), "\(file)")
      #expect(problems.isEmpty, "\(file)")
      #expect(vector.direction == json["direction"]?.string, "\(file)")
      #expect(hexadecimal(vector.bytes) == json["hex"]?.string, "\(file)")
    }
  }

  @Test("each bad vector is refused with the error that its file names")
  func badIsRefused() throws {
    let files = try VectorFiles.names(in: "bad")
    #expect(files.count >= 50)
    for file in files {
      let json = try VectorFiles.read("bad", file)
      let frame = try #require(json["hex"]?.string.flatMap { bytes(hexadecimal: $0) }, "\(file)")
      let direction = json["direction"]?.string ?? ""
      do {
        let vector = try Vector.decode(frame, direction: direction)
        Issue.record("\(file) was read as \(vector)")
      } catch {
        #expect(!error.problem.isEmpty && !error.place.isEmpty, "\(file)")
        #expect(error.place == json["place"]?.string, "\(file)")
        #expect(error.offset <= frame.count, "\(file)")
        if let code = json["error"]?.int64 { #expect(Int64(error.code.rawValue) == code, "\(file): \(error)") }
      }
    }
  }

  @Test("each merge vector gives its stated result, in both directions where two values are compared")
  func merges() throws {
    for file in try VectorFiles.names(in: "merge") {
      let json = try VectorFiles.read("merge", file)
      let verb = try #require(Verb.allCases.first { "\($0)" == json["verb"]?.string }, "\(file)")
      let operand = try FieldValue(text: json["operand"]?.string ?? "")
      let field = try json["field"]?.string.map { try FieldValue(text: $0) }
      let result = Merge.apply(verb, operand: operand, to: field)
      if json["refusal"] != nil {
        #expect(result == nil, "\(file)")
      } else if json["unchanged"] != nil {
        #expect(result == field, "\(file): \(result?.description ?? "")")
      } else {
        #expect(result?.description == json["becomes"]?.string, "\(file)")
        #expect(result != field, "\(file)")
      }
      guard file.hasPrefix("equal-") || file.hasPrefix("different-"), let field else { continue }
      let reversed = Merge.apply(verb, operand: field, to: operand)
      #expect((reversed == operand) == file.hasPrefix("equal-"), "\(file)")
    }
  }

  @Test("every proper prefix of a good vector is refused")
  func prefixesAreRefused() {
    for (file, vector) in GoodVectors.all {
      let frame = vector.bytes
      // An offer without its last part, a list of one or more entries, is a valid offer without numbers.
      let whole = file == "offer-numbers" ? frame.count - 4 - 2 * 12 : frame.count
      for length in 0..<frame.count where length != whole {
        let prefix = Array(frame.prefix(length))
        #expect(throws: WireError.self, "\(file) cut to \(length)") {
          try Vector.decode(prefix, direction: vector.direction)
        }
        #expect(!walks(prefix, direction: vector.direction), "\(file) cut to \(length)")
      }
    }
  }

  @Test("a decoding error names message, place and problem")
  func errorsNamePosition() {
    #expect(throws: WireError(message: "ping", place: "token", problem: "needs 8 bytes, 7 are left", offset: 13)) {
      try PeerMessage.decode(Array(PeerMessage.ping(Ping(token: 1)).encode(session: 1, start: 1).dropLast()))
    }
    #expect(
      throws: WireError(message: "pong", place: "end", problem: "2 bytes follow the end of the message", offset: 25)
    ) {
      try HubMessage.decode(HubMessage.pong(Pong(session: 1, token: 1)).encode(start: 1) + [0, 0])
    }
  }
}

/// Whether a cursor reads the frame to its end without an error; false for kinds that have no cursor.
func walks(_ frame: [UInt8], direction: String) -> Bool {
  frame.withUnsafeBytes { buffer in
    var reader = WireReader(buffer)
    do {
      if direction == Vector.toHubName {
        guard try PeerHeader(from: &reader).kind == .propose else { return false }
        _ = try walked(try ProposalCursor(reader))
      } else {
        guard try HubHeader(from: &reader).kind == .commits else { return false }
        _ = try walked(try CommitCursor(reader))
      }
      return true
    } catch {
      return false
    }
  }
}
