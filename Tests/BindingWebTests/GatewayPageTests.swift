import BindingProtocol
import Testing

@testable import BindingWeb

@Suite("The gateway's messages from pages")
struct GatewayPageTests {
  private let join = #"{"kind":"join","model":"lamp"}"#

  @Test(
    "a malformed message ends the page with 4000 and a reason that names the place",
    arguments: [
      "", "[]", "{}", #"{"kind":"nonsense"}"#, #"{"kind":"join"}"#, #"{"kind":"join","model":"a.b"}"#,
      #"{"kind":"join","prefix":"shop"}"#, #"{"kind":"join","model":"lamp","version":-1}"#,
      #"{"kind":"join","model":"lamp","epoch":7}"#, #"{"kind":"propose","model":"lamp"}"#,
      #"{"kind":"propose","model":"lamp","number":0,"operations":[["set","a",1]]}"#,
      #"{"kind":"propose","model":"lamp","number":1,"operations":[]}"#,
      #"{"kind":"propose","model":"lamp","number":1,"operations":[["put","a",1]]}"#,
      #"{"kind":"propose","model":"lamp","number":1,"operations":[["set","a"]]}"#,
      #"{"kind":"propose","model":"lamp","number":1,"operations":[["delete","a",1]]}"#,
      #"{"kind":"propose","model":"lamp","number":1,"operations":[["set","a.b",1]]}"#,
      #"{"kind":"propose","model":"lamp","number":1,"operations":[["set","a",1]],"conditions":[["a","x",1]]}"#,
      #"{"kind":"alive","heartbeat":1,"models":[{"model":"lamp"}]}"#, #"{"kind":"ping"}"#, #"{"kind":"hello"}"#,
    ])
  func malformed(_ text: String) {
    var stage = GatewayStage()
    let page = stage.welcomed(1)
    stage.send(page, text)
    #expect(stage.ended[page] == 4000)
    #expect(stage.gateway.counters.malformedTexts == 1)
    #expect(stage.gateway.pageCount == 0)
  }

  @Test("a page with the recovery capability can mark a proposal as first sent in an earlier epoch")
  func earlier() throws {
    func read(_ text: String) throws -> PageMessage {
      var text = text
      return try text.withUTF8 { try PageMessage(UnsafeRawBufferPointer($0)) }
    }
    var hello = GatewayStage.hello(GatewayStage.identity(1))
    hello = hello.dropLast() + #","capabilities":["applied","rescue","ephemeral","other"]}"#
    guard case .hello(let parsed) = try read(hello) else { return #expect(Bool(false)) }
    #expect(parsed.capabilities == [Capability.recovery])
    for (more, isEarlier) in ["": false, #","earlier":false"#: false, #","earlier":true"#: true] {
      let text = #"{"kind":"propose","model":"lamp","number":1,"operations":[["set","a",1]]\#(more)}"#
      guard case .propose(let proposal) = try read(text) else { return #expect(Bool(false)) }
      #expect(proposal.proposal.isEarlier == isEarlier)
    }
  }

  @Test("a page that sends a message before its hello, or a second hello, is ended")
  func order() {
    var stage = GatewayStage()
    let early = stage.arrive(1)
    stage.send(early, join)
    #expect(stage.ended[early] == 4000)
    let twice = stage.welcomed(2)
    stage.hello(twice, tag: 2)
    #expect(stage.ended[twice] == 4000)
  }

  @Test("a page with a foreign tag gets notYours, and one with a zero tag is ended as malformed (section 10)")
  func wrongTag() {
    var stage = GatewayStage()
    let owner = stage.welcomed(1)
    var forged = GatewayStage.identity(2)
    forged.tag = GatewayStage.identity(1).tag
    let thief = stage.arrive(3)
    stage.send(thief, GatewayStage.hello(forged))
    #expect(stage.take(thief, "error").last?["code"] == "notYours")
    #expect(stage.ended[thief] == 4003)
    forged.tag = .none
    let nobody = stage.arrive(4)
    stage.send(nobody, GatewayStage.hello(forged))
    #expect(stage.ended[nobody] == 4000)
    stage.send(owner, join)
    stage.propose(owner, "lamp", 1, #"[["set","level",1]]"#)
    #expect(stage.take(owner, "commits").count == 1)
  }

  @Test("a page that sends no hello within 5 s is ended")
  func silence() {
    var stage = GatewayStage()
    let page = stage.arrive(1)
    stage.wait(4_500)
    #expect(stage.ended[page] == nil)
    stage.wait(1_000)
    #expect(stage.ended[page] == 4004)
  }

  @Test("a page with the same identity takes over, and the earlier one gets fenced")
  func fenced() {
    var stage = GatewayStage()
    let one = stage.welcomed(1)
    let two = stage.arrive(2)
    stage.hello(two, tag: 1, resuming: true)
    #expect(stage.ended[one] == 4001)
    #expect(stage.take(one, "error").last?["code"] == "fenced")
    #expect(stage.take(two, "welcome").count == 1)
    stage.send(two, join)
    stage.propose(two, "lamp", 1, #"[["set","level",1]]"#)
    #expect(stage.take(two, "commits").count == 1)
  }

  @Test("what a lost connection of a page still brings takes nothing from its next one")
  func lateHello() {
    var stage = GatewayStage()
    let (lost, present) = (stage.arrive(1), stage.arrive(2))
    stage.hello(present, tag: 1, opening: "opening:a1-2")
    stage.hello(lost, tag: 1, opening: "opening:a1-1")
    #expect(stage.ended[lost] == 4001)
    #expect(stage.ended[present] == nil)
    stage.send(present, join)
    stage.propose(present, "lamp", 1, #"[["set","level",1]]"#)
    #expect(stage.take(present, "commits").count == 1)
  }

  @Test("a repeated proposal is answered with its first decision and takes effect once")
  func repeats() {
    var stage = GatewayStage()
    let one = stage.welcomed(1)
    stage.send(one, join)
    stage.propose(one, "lamp", 1, #"[["add","count",1]]"#)
    stage.leave(one)
    let again = stage.arrive(2)
    stage.hello(again, tag: 1, resuming: true)
    stage.send(again, join)
    stage.propose(again, "lamp", 1, #"[["add","count",1]]"#)
    #expect(stage.take(again, "outcomes").last?["outcomes"]?[0]?["version"] == 1)
    #expect(stage.take(again, "catchup").last?["fields"]?[0]?[6] == 1)
  }

  @Test("a refusal and a conflict name their reasons")
  func refusals() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.send(two, join)
    stage.propose(one, "lamp", 1, #"[["set","@description",{"fields":{"level":{"type":"number","min":0,"max":1}}}]]"#)
    stage.propose(one, "lamp", 2, #"[["set","level",7]]"#)
    let refused = stage.take(one, "outcomes").last?["outcomes"]?[0]
    #expect(refused?["kind"] == "refused")
    #expect(refused?["code"] == "doesNotFit")
    #expect(refused?["text"]?.string?.contains("lamp.level") == true)
    stage.propose(one, "lamp", 3, #"[["set","level",0.5]]"#)
    let epoch = stage.take(two, "commits").last?["epoch"]?.string ?? ""
    stage.propose(two, "lamp", 1, #"[["set","level",0.1]]"#, #","conditions":[["level","\#(epoch)",1]]"#)
    let conflict = stage.take(two, "outcomes").last?["outcomes"]?[0]
    #expect(conflict?["kind"] == "conflict")
    #expect(conflict?["name"] == "page1")
    #expect(conflict?["value"] == 0.5)
  }

  @Test("a proposal for a model that is not joined is answered with notJoined, and the page stays connected")
  func notJoined() {
    var stage = GatewayStage()
    let page = stage.welcomed(1)
    stage.propose(page, "lamp", 1, #"[["set","level",1]]"#)
    #expect(stage.take(page, "error").last?["code"] == "notJoined")
    stage.send(page, #"{"kind":"ping","token":5}"#)
    #expect(stage.take(page, "pong").last?["token"] == 5)
  }

  @Test("a lost hub ends pages with 1012, and they are served again after it returns")
  func hubGone() {
    var stage = GatewayStage()
    let page = stage.welcomed(1)
    stage.send(page, join)
    stage.loseHub()
    #expect(stage.ended[page] == 1012)
    #expect(stage.pauses.count == 2)
    let again = stage.arrive(2)
    stage.hello(again, tag: 1, resuming: true)
    #expect(stage.take(again, "welcome").first?["known"] == true)
    stage.send(again, join)
    #expect(stage.take(again, "catchup").count == 1)
  }

  @Test("a hidden page keeps its session while connected, and a disconnected page loses it with its lease")
  func lease() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(two, #"{"kind":"join","model":"@hub"}"#)
    stage.wait(30_000)
    #expect(stage.ended.isEmpty)
    stage.leave(one)
    stage.wait(15_000)
    let sessions = stage.take(two, "commits").flatMap { $0["commits"]?.elements ?? [] }
      .flatMap { $0["changes"]?.elements ?? [] }.last { $0[0] == "sessions" }
    #expect(sessions?[1]?.elements?.contains { $0["name"]?.string?.hasPrefix("page1") == true } == false)
  }

  @Test("a page past its limits is refused only the excess requests")
  func limits() {
    var stage = GatewayStage({
      $0.maxModelsPerPage = 2
      $0.maxPrefixesPerPage = 1
      $0.maxModels = 3
    })
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    for model in ["a", "b", "c"] { stage.send(one, #"{"kind":"join","model":"\#(model)"}"#) }
    #expect(stage.take(one, "error").map { $0["model"] } == ["c"])
    for prefix in ["", "shop/"] { stage.send(one, #"{"kind":"join","prefix":"\#(prefix)"}"#) }
    #expect(stage.take(one, "error").map { $0["prefix"] } == ["shop/"])
    for model in ["d", "e"] { stage.send(two, #"{"kind":"join","model":"\#(model)"}"#) }
    #expect(stage.take(two, "error").map { $0["model"] } == ["e"])
    #expect(stage.gateway.counters.joinsRefused == 3)
  }

  @Test("a model without pages is unfollowed after a delay")
  func lingering() {
    var stage = GatewayStage()
    let page = stage.welcomed(1)
    stage.send(page, join)
    stage.send(page, #"{"kind":"leave","model":"lamp"}"#)
    #expect(stage.gateway.modelCount == 1)
    stage.wait(11_000)
    #expect(stage.gateway.modelCount == 0)
    stage.send(page, join)
    #expect(stage.take(page, "catchup").count == 2)
  }
}
