import BindingHub
import BindingProtocol
import BindingWeb
import Testing

@Suite("The past, for pages")
struct GatewayHistoryTests {
  private var stage = GatewayStage()

  private static func join(_ model: String) -> String { #"{"kind":"join","model":"\#(model)"}"# }

  private static func ask(_ more: String = "", model: String = "lamp", _ number: Int = 1) -> String {
    #"{"kind":"history","model":"\#(model)","request":\#(number)\#(more)}"#
  }

  /// A page that has written versions 1 to 3 of `lamp`.
  private mutating func writer() -> PageID {
    let page = stage.welcomed(1)
    stage.send(page, Self.join("lamp"))
    for number in 1...3 { stage.propose(page, "lamp", number, #"[["set","level",\#(number)]]"#) }
    stage.propose(page, "lamp", 4, #"[["delete","level"]]"#)
    return page
  }

  @Test("a page asks for the past of a model that it has joined, in pages, filtered and in either order")
  mutating func pages() throws {
    let page = writer()
    stage.send(page, Self.ask())
    let all = try #require(stage.take(page, "past").first)
    #expect(all["model"] == "lamp" && all["request"] == 1 && all["end"] == "all")
    #expect(all["horizon"] == 1 && all["reason"] == "beginning" && all["head"] == 4)
    let commits = all["commits"]?.elements ?? []
    #expect(commits.map { $0["version"] } == [4, 3, 2, 1])
    #expect(commits.first?["changes"]?.text == #"[["level"]]"# && commits.last?["changes"]?.text == #"[["level",1]]"#)
    #expect(commits.first?["name"] == "page1" && commits.first?["number"] == 4)
    stage.send(page, Self.ask(#","count":2,"oldest":true,"after":1"#, 2))
    let some = try #require(stage.take(page, "past").first)
    #expect(some["end"] == "more" && some["next"] == 3)
    #expect(some["commits"]?.elements?.map { $0["version"] } == [2, 3])
    stage.send(page, Self.ask(#","fields":["none"],"writers":["page1"],"epoch":"0""#, 3))
    #expect(stage.take(page, "past").first?["commits"]?.elements?.isEmpty == true)
  }

  @Test("a model that is not joined, an ephemeral one and the gateway's own have no past for a page")
  mutating func refused() {
    let page = writer()
    let other = stage.welcomed(2)
    stage.send(other, Self.ask())
    #expect(stage.take(other, "past").map { $0["end"] } == ["notJoined"])
    stage.send(page, Self.ask(model: "@hub"))
    stage.send(page, Self.ask(model: "@ephemeral/lamp"))
    #expect(stage.take(page, "past").map { $0["end"] } == ["none", "none"])
  }

  @Test(
    "a malformed request ends the page with 4000",
    arguments: [
      #"{"kind":"history","model":"lamp"}"#, #"{"kind":"history","model":"a.b","request":1}"#,
      #"{"kind":"history","model":"lamp","request":1,"after":-1}"#,
      #"{"kind":"history","model":"lamp","request":1,"epoch":7}"#,
      #"{"kind":"history","model":"lamp","request":1,"fields":["a.b"]}"#,
      #"{"kind":"history","model":"lamp","request":1,"fields":"a"}"#,
      #"{"kind":"history","model":"lamp","request":1,"writers":[7]}"#,
      #"{"kind":"history","model":"lamp","request":1,"oldest":1}"#,
      #"{"kind":"history","model":"lamp","request":1,"count":70000}"#,
    ])
  mutating func malformed(_ text: String) {
    let page = writer()
    stage.send(page, text)
    #expect(stage.ended[page] == 4000)
  }

  @Test("a member's page has the past of what it may read, unless its role lacks the right history")
  mutating func members() {
    func patterns(_ texts: String...) -> [AccessPattern] { texts.compactMap { AccessPattern($0) } }
    let policy = AccessPolicy(
      roles: [
        "guest": AccessRole([.read: patterns("lamp")]), "blind": AccessRole([.read: patterns("lamp"), .history: []]),
      ],
      names: [:])
    var members = HubMembers()
    members.add("gus", role: "guest")
    members.add("bob", role: "blind")
    stage = GatewayStage(policy, members)
    _ = writer()
    for (number, name, role, end) in [(2, "gus", "guest", "all"), (3, "bob", "blind", "notPermitted")] {
      let page = stage.member(UInt64(number), name, role: role)
      stage.send(page, Self.join("lamp"))
      stage.send(page, Self.ask())
      #expect(stage.take(page, "past").map { $0["end"]?.string } == [end], "\(name)")
    }
  }
}
