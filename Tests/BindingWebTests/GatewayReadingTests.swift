import BindingProtocol
import BindingWeb
import Testing

@Suite("The gateway's messages to pages")
struct GatewayReadingTests {
  private let join = #"{"kind":"join","model":"lamp"}"#

  @Test("a page that joins an unknown model gets an empty catch-up")
  func emptyModel() {
    var stage = GatewayStage()
    let page = stage.welcomed(1)
    #expect(stage.take(page, "welcome").count == 1)
    stage.send(page, join)
    let catchup = stage.take(page, "catchup")
    #expect(catchup.count == 1)
    #expect(catchup.first?["form"] == "none")
    #expect(catchup.first?["version"] == 0)
  }

  @Test("a page's write reaches the other page as a commit, and the writer gets commit and outcome")
  func twoPages() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.send(two, join)
    stage.propose(one, "lamp", 1, #"[["set","level",0.80]]"#)
    for page in [one, two] {
      let commits = stage.take(page, "commits")
      #expect(commits.count == 1)
      #expect(commits.first?["previous"] == 0)
      #expect(commits.first?["commits"]?[0]?["number"] == 1)
      #expect(commits.first?["commits"]?[0]?["tag"]?.string == GatewayStage.identity(1).tag.description)
      #expect(commits.first?["commits"]?[0]?["changes"] == [["level", 0.8]])
    }
    let outcomes = stage.take(one, "outcomes")
    #expect(
      outcomes.first?["outcomes"] == [
        .object([.init("number", 1), .init("kind", "committed"), .init("count", 1), .init("version", 1)])
      ])
    #expect(stage.take(two, "outcomes").isEmpty)
  }

  @Test("the former verb `default` of a page is understood as `setIfAbsent`")
  func formerVerb() {
    var stage = GatewayStage()
    let page = stage.welcomed(1)
    stage.send(page, join)
    stage.propose(page, "lamp", 1, #"[["default","level",0.5]]"#)
    stage.propose(page, "lamp", 2, #"[["setIfAbsent","level",0.7]]"#)
    let kinds = stage.take(page, "outcomes").flatMap { $0["outcomes"]?.elements ?? [] }.map { $0["kind"]?.string }
    #expect(kinds == ["committed", "unchanged"])
  }

  @Test("a page that joins later gets a snapshot with the writers of the values")
  func snapshot() {
    var stage = GatewayStage()
    let one = stage.welcomed(1)
    stage.send(one, join)
    stage.propose(one, "lamp", 1, #"[["set","level",0.5],["set","on",true]]"#)
    stage.propose(one, "lamp", 2, #"[["delete","on"]]"#)
    let two = stage.welcomed(2)
    stage.send(two, join)
    let catchup = stage.take(two, "catchup")
    #expect(catchup.count == 1)
    #expect(catchup.first?["form"] == "snapshot")
    #expect(catchup.first?["version"] == 2)
    #expect(catchup.first?["fields"]?.elements?.count == 1)
    #expect(catchup.first?["fields"]?[0]?[0] == "level")
    #expect(catchup.first?["fields"]?[0]?[1] == 1)
    #expect(catchup.first?["fields"]?[0]?[3] == "page1")
    #expect(catchup.first?["fields"]?[0]?[6] == 0.5)
  }

  @Test("a returning page gets the changes since, deletions included, and its last decided number")
  func delta() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.send(two, join)
    stage.propose(one, "lamp", 1, #"[["set","level",0.5],["set","on",true]]"#)
    let epoch = stage.take(one, "commits").first?["epoch"]?.string ?? ""
    stage.leave(one)
    stage.propose(two, "lamp", 1, #"[["delete","on"]]"#)
    stage.propose(two, "lamp", 2, #"[["set","name","desk"]]"#)
    let again = stage.arrive(3)
    stage.hello(again, tag: 1, resuming: true)
    #expect(stage.take(again, "welcome").first?["known"] == true)
    stage.send(again, #"{"kind":"join","model":"lamp","epoch":"\#(epoch)","version":1,"unacknowledged":2}"#)
    let catchup = stage.take(again, "catchup")
    #expect(catchup.first?["form"] == "delta")
    #expect(catchup.first?["previous"] == 1)
    #expect(catchup.first?["version"] == 3)
    #expect(catchup.first?["mark"] == 1)
    let fields = catchup.first?["fields"]?.elements ?? []
    #expect(fields.map { $0[0] } == ["on", "name"])
    #expect(fields.first?.elements?.count == 6, "deleted: without a value")
  }

  @Test("a page that reads too slowly gets one delta for everything it missed and delays no other page")
  func slowPage() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.send(two, join)
    stage.fill(two)
    for number in 1...50 { stage.propose(one, "lamp", number, #"[["set","level",\#(number)]]"#) }
    #expect(stage.take(one, "commits").count == 50)
    #expect(stage.take(two, "commits").isEmpty)
    _ = stage.take(two, "catchup")
    stage.makeRoom(two)
    let catchup = stage.take(two, "catchup")
    #expect(catchup.count == 1)
    #expect(catchup.first?["form"] == "snapshot", "it had nothing")
    #expect(catchup.first?["fields"]?.elements?.count == 1)
    stage.fill(two)
    for number in 51...60 { stage.propose(one, "lamp", number, #"[["set","level",\#(number)]]"#) }
    stage.makeRoom(two)
    let next = stage.take(two, "catchup")
    #expect(next.first?["form"] == "delta")
    #expect(next.first?["previous"] == 50)
    #expect(next.first?["version"] == 60)
    #expect(stage.gateway.counters.coalescedCommits == 60)
  }

  @Test("the last decided number of a coalesced delta covers the page's own commits")
  func lastDecidedOfCoalesced() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.send(two, join)
    stage.propose(two, "lamp", 1, #"[["set","level",1]]"#)
    stage.fill(two)
    stage.propose(two, "lamp", 2, #"[["set","level",2]]"#)
    stage.propose(one, "lamp", 1, #"[["set","level",3]]"#)
    _ = stage.take(two, "catchup")
    stage.makeRoom(two)
    #expect(stage.take(two, "catchup").first?["mark"] == 2)
  }

  @Test("a long snapshot is sent in chunks, the last one marked, and waits while the page is full")
  func pieces() {
    var stage = GatewayStage({ $0.chunkBytes = 2_000 })
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    let filler = String(repeating: "x", count: 900)
    for number in 1...40 { stage.propose(one, "lamp", number, #"[["set","f\#(number)","\#(filler)"]]"#) }
    stage.send(two, join)
    var pieces = stage.take(two, "catchup")
    #expect(pieces.count > 1 && pieces.count < 14, "no more than was asked for at once")
    #expect(pieces.allSatisfy { $0["last"] == false })
    stage.propose(one, "lamp", 41, #"[["set","late",1]]"#)
    #expect(stage.take(two, "commits").isEmpty, "it is not through yet")
    stage.wait(2_000)
    pieces += stage.take(two, "catchup")
    let whole = pieces.firstIndex { $0["last"] == true } ?? 0
    #expect(pieces[...whole].reduce(0) { $0 + ($1["fields"]?.elements?.count ?? 0) } == 40)
    #expect(pieces.last?["form"] == "delta")
    #expect(pieces.last?["version"] == 41)
  }

  @Test("a commit lost on the way to the gateway reaches the pages with the next heartbeats")
  func lostCommit() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.send(two, join)
    stage.propose(one, "lamp", 1, #"[["set","level",1]]"#)
    stage.losesCommits = true
    stage.propose(one, "lamp", 2, #"[["set","level",2]]"#)
    stage.losesCommits = false
    _ = stage.take(two, "catchup")
    stage.wait(3_000)
    let catchup = stage.take(two, "catchup")
    #expect(catchup.last?["version"] == 2)
    #expect(stage.take(one, "catchup").last?["mark"] == 2)
  }

  @Test("a joined prefix announces existing models and new ones")
  func prefixes() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.propose(one, "lamp", 1, #"[["set","level",1]]"#)
    stage.send(two, #"{"kind":"join","prefix":""}"#)
    #expect(stage.take(two, "announce").last?["models"]?[0]?["model"] == "lamp")
    stage.send(one, #"{"kind":"join","model":"shop/door"}"#)
    stage.propose(one, "shop/door", 1, #"[["set","open",true]]"#)
    #expect(stage.take(two, "announce").last?["models"]?[0]?["model"] == "shop/door")
  }

  @Test("@hub shows the hub's report, updated with each heartbeat, and cannot be written")
  func ownModel() {
    var stage = GatewayStage()
    let page = stage.welcomed(1)
    stage.send(page, #"{"kind":"join","model":"@hub"}"#)
    let fields = stage.take(page, "catchup").first?["fields"]?.elements ?? []
    #expect(fields.contains { $0[0] == "sessions" })
    #expect(fields.contains { $0[0] == "pages" && $0[6] == 1 })
    stage.wait(1_250)
    #expect(!stage.take(page, "commits").isEmpty)
    stage.propose(page, "@hub", 1, #"[["set","name","mine"]]"#)
    #expect(stage.take(page, "outcomes").last?["outcomes"]?[0]?["code"] == "notPermitted")
  }

  @Test("a page reads the presence of a model and sees peers come and go")
  func presence() {
    var stage = GatewayStage()
    let (one, two) = (stage.welcomed(1), stage.welcomed(2))
    stage.send(one, join)
    stage.send(one, #"{"kind":"join","model":"@ephemeral/lamp"}"#)
    func names(_ fields: [JSON], at index: Int) -> Set<String> {
      Set(fields.compactMap { $0[index]?["name"]?.string })
    }
    let here = stage.take(one, "catchup").last?["fields"]?.elements ?? []
    #expect(names(here, at: 6) == ["page1", "web"])
    stage.send(two, join)
    let changes = stage.take(one, "commits").last?["commits"]?[0]?["changes"]?.elements ?? []
    #expect(names(changes, at: 1) == ["page2"])
    stage.send(two, #"{"kind":"leave","model":"lamp"}"#)
    let gone = stage.take(one, "commits").last?["commits"]?[0]?["changes"]?.elements ?? []
    #expect(gone.map { $0.elements?.count } == [1])
    stage.propose(one, "@ephemeral/lamp", 1, #"[["set","cursor",1]]"#)
    #expect(stage.take(one, "outcomes").last?["outcomes"]?[0]?["code"] == "notPermitted")
  }
}
