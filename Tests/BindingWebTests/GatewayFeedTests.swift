import BindingProtocol
import BindingWeb
import Testing

@Suite("The gateway's feed of commits in all models")
struct GatewayFeedTests {
  private let join = #"{"kind":"join","feed":true}"#

  /// Returns a page that writes, and one that has joined the feed and received the existing state.
  private func stage(_ configure: (inout GatewayOptions) -> Void = { _ in }) -> (GatewayStage, PageID, PageID) {
    var stage = GatewayStage(configure)
    let (writer, reader) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(writer, #"{"kind":"join","model":"lamp"}"#)
    stage.propose(writer, "lamp", 1, #"[["set","level",1],["set","on",true]]"#)
    stage.send(reader, join)
    stage.wait(2_000)
    #expect(stage.take(reader, "feed").isEmpty)
    return (stage, writer, reader)
  }

  private func lines(_ stage: inout GatewayStage, _ page: PageID) -> [JSON] {
    stage.take(page, "feed").flatMap { $0["lines"]?.elements ?? [] }
  }

  @Test("a model that the gateway does not follow is reported with its changed fields within two heartbeats")
  func unfollowed() {
    var (stage, writer, reader) = stage()
    stage.propose(writer, "lamp", 2, #"[["set","level",2]]"#)
    stage.wait(2_250)
    let lines = lines(&stage, reader)
    #expect(lines.count == 1)
    #expect(lines.first?["model"] == "lamp" && lines.first?["version"] == 2 && lines.first?["count"] == 1)
    #expect(lines.first?["name"] == "page1")
    #expect(lines.first?["changes"]?.elements?.count == 1)
    #expect(lines.first?["changes"]?[0]?["field"] == "level" && lines.first?["changes"]?[0]?["to"] == 2)
    #expect(lines.first?["changes"]?[0]?["known"] == false)
  }

  @Test("a followed model is reported within one tick with former values, in one line per writer")
  func followed() {
    var (stage, writer, reader) = stage()
    stage.propose(writer, "lamp", 2, #"[["set","level",2]]"#)
    stage.wait(2_250)
    _ = lines(&stage, reader)
    let other = stage.welcomed(3)
    stage.send(other, #"{"kind":"join","model":"lamp"}"#)
    for number in 3...12 { stage.propose(writer, "lamp", number, #"[["set","level",\#(number)]]"#) }
    stage.propose(other, "lamp", 1, #"[["delete","on"]]"#)
    #expect(lines(&stage, reader).isEmpty)
    stage.wait(250)
    let lines = lines(&stage, reader)
    #expect(lines.map { $0["name"] } == ["page1", "page3"])
    #expect(lines.map { $0["count"] } == [10, 1])
    #expect(lines.first?["version"] == 12)
    #expect(
      lines.first?["changes"] == [
        .object([
          .init("field", "level"), .init("version", 12), .init("known", true), .init("from", 2), .init("to", 12),
        ])
      ])
    #expect(
      lines.last?["changes"] == [
        .object([.init("field", "on"), .init("version", 13), .init("known", true), .init("from", true)])
      ])
  }

  @Test("a feed message is bounded in lines, fields and bytes, and omissions are counted")
  func bounded() {
    var (stage, writer, reader) = stage()
    let long = String(repeating: "x", count: 2_000)
    stage.propose(writer, "lamp", 2, #"[["set","long","\#(long)"]]"#)
    stage.wait(2_250)
    #expect(lines(&stage, reader).first?["changes"]?[0]?["toBytes"] == 2_002)
    let many = (1...20).map { #"["set","f\#($0)",1]"# }.joined(separator: ",")
    stage.propose(writer, "lamp", 3, "[\(many)]")
    stage.wait(250)
    let line = lines(&stage, reader).first
    #expect(line?["changes"]?.elements?.count == 16 && line?["more"] == 4)
    for number in 1...140 { stage.send(writer, #"{"kind":"join","model":"m\#(number)"}"#) }
    for number in 1...140 { stage.propose(writer, "m\(number)", 1, #"[["set","a",1]]"#) }
    stage.wait(2_250)
    for number in 1...140 { stage.propose(writer, "m\(number)", 2, #"[["set","a",2]]"#) }
    _ = stage.take(reader, "feed")
    stage.wait(250)
    let feed = stage.take(reader, "feed")
    #expect(feed.first?["lines"]?.elements?.count == 128 && feed.first?["left"] == 12)
  }

  @Test("the gateway follows no model for a feed without readers")
  func left() {
    var (stage, writer, reader) = stage { $0.lingerMilliseconds = 500 }
    stage.propose(writer, "lamp", 2, #"[["set","level",2]]"#)
    stage.wait(2_250)
    stage.leave(writer)
    stage.wait(2_000)
    #expect(stage.gateway.modelCount == 1)
    stage.send(reader, #"{"kind":"leave","feed":true}"#)
    stage.wait(2_000)
    #expect(stage.gateway.modelCount == 0)
  }

  @Test("models followed only for the feed make room for pages")
  func yields() {
    var (stage, writer, reader) = stage {
      $0.maxModels = 2
      $0.reservedModels = 0
    }
    stage.propose(writer, "lamp", 2, #"[["set","level",2]]"#)
    stage.wait(2_250)
    stage.send(writer, #"{"kind":"leave","model":"lamp"}"#)
    for model in ["a", "b"] { stage.send(reader, #"{"kind":"join","model":"\#(model)"}"#) }
    #expect(stage.take(reader, "error").isEmpty)
    #expect(stage.take(reader, "catchup").count == 2)
    stage.send(writer, #"{"kind":"join","model":"c"}"#)
    #expect(stage.take(writer, "error").first?["code"] == "tooManyTopics")
  }

  @Test("pages that join many models leave the reserved ones to pages with few")
  func fair() {
    var stage = GatewayStage {
      $0.maxModels = 20
      $0.reservedModels = 8
      $0.reservedModelsPerPage = 3
    }
    let first = stage.welcomed(1)
    for number in 1...20 { stage.send(first, #"{"kind":"join","model":"a\#(number)"}"#) }
    #expect(stage.take(first, "catchup").count == 12)
    let refused = stage.take(first, "error")
    #expect(refused.count == 8 && refused.first?["code"] == "tooManyTopics" && refused.first?["model"] == "a13")
    for page in UInt64(2)...3 {
      let late = stage.welcomed(page)
      for number in 1...4 { stage.send(late, #"{"kind":"join","model":"b\#(page)-\#(number)"}"#) }
      #expect(stage.take(late, "catchup").count == 3)
      #expect(stage.take(late, "error").count == 1)
    }
    // A model that the gateway already follows is shared.
    stage.send(first, #"{"kind":"join","model":"b2-1"}"#)
    #expect(stage.take(first, "catchup").count == 1)
    // Models that the first page leaves are available to others immediately.
    stage.send(first, #"{"kind":"leave","model":"a1"}"#)
    for number in 1...3 {
      let late = stage.welcomed(UInt64(3 + number))
      stage.send(late, #"{"kind":"join","model":"c\#(number)"}"#)
      #expect(stage.take(late, "error").isEmpty, "\(number)")
    }
  }
}
