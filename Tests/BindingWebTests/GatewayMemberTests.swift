import BindingHub
import BindingProtocol
import BindingWeb
import Testing

/// What a page sees that speaks for a member: anna may do everything, gus reads `public/*` and writes one field.
@Suite("Pages of members")
struct GatewayMemberTests {
  private static let policy = AccessPolicy(
    roles: [
      "staff": AccessRole(
        Dictionary(uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, patterns("*")) }), admin: true),
      "guest": AccessRole([.read: patterns("public/*"), .write: patterns("public/lamp.level")]),
      "none": AccessRole(),
    ],
    names: ["anna": ["staff"]])

  private static var members: HubMembers {
    var members = HubMembers()
    members.add("anna", role: nil)
    members.add("gus", role: "guest")
    return members
  }

  private static func patterns(_ texts: String...) -> [AccessPattern] { texts.compactMap { AccessPattern($0) } }

  private var stage = GatewayStage(policy, members)
  private let owner: PageID
  private let guest: PageID

  /// The hub's own page has the secret model open, and has written it and a public one.
  init() {
    owner = stage.welcomed(1)
    for (model, field) in [("secret/plan", "code"), ("public/lamp", "level")] {
      stage.send(owner, GatewayMemberTests.join(model))
      stage.propose(owner, model, 1, #"[["set","\#(field)",4711]]"#)
    }
    guest = stage.member(2, "gus", role: "guest")
  }

  private static func join(_ model: String) -> String { #"{"kind":"join","model":"\#(model)"}"# }

  private func errors(_ texts: [JSON]) -> [String] {
    texts.map { "\($0["code"]?.string ?? "-") \($0["model"]?.string ?? "-"): \($0["text"]?.string ?? "-")" }
  }

  /// Whether nothing that the guest was ever sent names the secret model or holds its value.
  private var hasLeaked: Bool {
    (stage.sent[guest] ?? []).contains {
      $0.contains("secret/plan") && !$0.contains("\"error\"") || $0.contains("4712")
    }
  }

  // MARK: Reading

  @Test("the welcome names the member, and says whether it has the right admin")
  mutating func welcome() {
    let mine = stage.take(guest, "welcome")
    #expect(mine.map { $0["user"] } == ["gus"] && mine.map { $0["admin"] } == [false])
    let anna = stage.member(3, "anna")
    #expect(stage.take(anna, "welcome").map { $0["admin"] } == [true])
    #expect(stage.take(owner, "welcome").map { $0["user"] } == [nil])
  }

  @Test("a model that the member may not read is refused alike, whether it is open here, exists, or not")
  mutating func forbidden() {
    stage.otherJoins("secret/other")
    for model in ["secret/plan", "secret/other", "secret/none"] { stage.send(guest, GatewayMemberTests.join(model)) }
    #expect(
      errors(stage.take(guest, "error"))
        == ["secret/plan", "secret/other", "secret/none"].map {
          "notPermitted \($0): \($0): gus (guest) lacks the right read"
        })
    #expect(!stage.knows("secret/none") && stage.gateway.modelCount == 2)
    stage.propose(owner, "secret/plan", 2, #"[["set","code",4712]]"#)
    stage.wait(4_000)
    #expect(!hasLeaked && stage.take(guest, "catchup").isEmpty && stage.take(guest, "commits").isEmpty)
  }

  @Test("a full gateway refuses a forbidden model as it does otherwise, not by what others have open")
  mutating func full() {
    stage = GatewayStage(GatewayMemberTests.policy, GatewayMemberTests.members) {
      ($0.maxModels, $0.reservedModels) = (1, 0)
    }
    let owner = stage.welcomed(1)
    stage.send(owner, GatewayMemberTests.join("secret/plan"))
    let guest = stage.member(2, "gus", role: "guest")
    for model in ["secret/plan", "secret/none", "public/lamp"] { stage.send(guest, GatewayMemberTests.join(model)) }
    #expect(stage.take(guest, "error").map { $0["code"] } == ["notPermitted", "notPermitted", "tooManyTopics"])
  }

  @Test("a model that the member may read is shown, with what follows, also where no other page has it open")
  mutating func allowed() {
    stage.send(guest, GatewayMemberTests.join("public/lamp"))
    let catchup = stage.take(guest, "catchup")
    #expect(catchup.map { $0["form"] } == ["snapshot"] && catchup.first?["fields"]?[0]?[6] == 4711)
    stage.propose(owner, "public/lamp", 2, #"[["set","level",2]]"#)
    #expect(stage.take(guest, "commits").map { $0["previous"] } == [1])
    stage.send(guest, GatewayMemberTests.join("public/new"))
    #expect(stage.take(guest, "catchup").map { $0["model"] } == ["public/new"])
  }

  @Test("the ephemeral model of a model is read by who may read that, and by nobody else")
  mutating func ephemeral() {
    stage.otherJoins(Names.ephemeral("secret/plan"))
    for model in ["secret/plan", "secret/none", "public/lamp"].map(Names.ephemeral) {
      stage.send(guest, GatewayMemberTests.join(model))
    }
    stage.wait(1_250)
    #expect(stage.take(guest, "error").map { $0["code"] } == ["notPermitted", "notPermitted"])
    #expect(stage.take(guest, "catchup").map { $0["model"]?.string } == [Names.ephemeral("public/lamp")])
    #expect(!hasLeaked)
  }

  @Test("the prefix of all models announces what the member may read, now and later")
  mutating func prefixes() {
    for prefix in ["", "secret/"] { stage.send(guest, #"{"kind":"join","prefix":"\#(prefix)"}"#) }
    let now = stage.take(guest, "announce")
    #expect(now.flatMap { $0["models"]?.elements ?? [] }.map { $0["model"] } == ["public/lamp"])
    #expect(now.map { $0["complete"] } == [true, true])
    for model in ["secret/late", "public/late"] {
      stage.send(owner, GatewayMemberTests.join(model))
      stage.propose(owner, model, 1, #"[["set","x",1]]"#)
    }
    let later = stage.take(guest, "announce").flatMap { $0["models"]?.elements ?? [] }
    #expect(later.map { $0["model"] } == ["public/late"])
    stage.send(guest, #"{"kind":"leave","prefix":""}"#)
    stage.send(owner, GatewayMemberTests.join("public/last"))
    stage.propose(owner, "public/last", 1, #"[["set","x",1]]"#)
    #expect(stage.take(guest, "announce").isEmpty && !hasLeaked)
  }

  @Test("the feed shows commits of models that the member may read, also to one with the right admin")
  mutating func feed() {
    var policy = GatewayMemberTests.policy
    policy.roles["guest"]?.admin = true
    stage.apply(policy)
    let admin = stage.member(4, "gus", role: "guest")
    for page in [owner, admin] { stage.send(page, #"{"kind":"join","feed":true}"#) }
    stage.wait(2_000)
    for number in 2...4 {
      stage.propose(owner, "secret/plan", number, #"[["set","code",4712]]"#)
      stage.propose(owner, "public/lamp", number, #"[["set","level",\#(number)]]"#)
      stage.wait(1_000)
    }
    func models(_ page: PageID) -> Set<String> {
      Set(stage.take(page, "feed").flatMap { $0["lines"]?.elements ?? [] }.compactMap { $0["model"]?.string })
    }
    #expect(models(owner) == ["secret/plan", "public/lamp"])
    #expect(models(admin) == ["public/lamp"])
    #expect(stage.take(admin, "feed").allSatisfy { $0["left"] == 0 })
  }

  @Test("a page that follows all models and the feed is told of the models, in whichever order it asks")
  mutating func prefixAndFeed() {
    let texts = [#"{"kind":"join","prefix":""}"#, #"{"kind":"join","feed":true}"#]
    for (number, order) in [texts, texts.reversed()].enumerated() {
      let page = stage.member(20 + UInt64(number), "gus", role: "guest")
      stage.send(page, order)
      let models = stage.take(page, "announce").flatMap { $0["models"]?.elements ?? [] }
      #expect(models.map { $0["model"] } == ["public/lamp"])
    }
  }

  @Test("the hub's report is for those with the right admin")
  mutating func report() {
    stage.send(guest, GatewayMemberTests.join("@hub"))
    #expect(errors(stage.take(guest, "error")) == ["notPermitted @hub: @hub: gus lacks the right admin"])
    let anna = stage.member(3, "anna")
    stage.send(anna, GatewayMemberTests.join("@hub"))
    stage.wait(1_000)
    #expect(stage.take(anna, "catchup").map { $0["model"] } == ["@hub"])
    #expect(stage.take(guest, "catchup").isEmpty && !hasLeaked)
  }

  @Test("who has the report ends browsers, and nobody else does")
  mutating func endBrowser() {
    let anna = stage.member(3, "anna")
    for page in [guest, anna, owner] { stage.send(page, #"{"kind":"end","session":"s\#(page.number)"}"#) }
    #expect(stage.endedBrowsers == ["s3", "s1"])
    #expect(errors(stage.take(guest, "error")) == ["notPermitted -: gus lacks the right admin"])
  }

  @Test("the report lists the browsers that are in, with their open pages, 256 at most")
  mutating func browsers() {
    stage.act { gateway, _, _ in
      gateway.browsers = (0..<300).map {
        PageBrowser(
          member: PageMember(session: "s\($0)", name: "gus", role: "guest"), label: "Firefox", since: 5, until: 9)
      }
    }
    stage.send(owner, GatewayMemberTests.join("@hub"))
    stage.wait(1_000)
    let fields = stage.take(owner, "catchup").first { $0["model"] == "@hub" }?["fields"]?.elements ?? []
    let listed = fields.first { $0[0] == "browsers" }?[6]?.elements ?? []
    #expect(listed.count == 256 && listed[2]["pages"] == 1 && listed[3]["pages"] == 0)
    #expect(listed[2]["name"] == "gus" && listed[2]["label"] == "Firefox" && listed[2]["since"] == 5)
  }

  // MARK: Writing

  @Test("a proposal for a model that was refused or not asked for goes nowhere")
  mutating func proposals() {
    stage.send(guest, GatewayMemberTests.join("secret/plan"))
    stage.propose(guest, "secret/plan", 1, #"[["set","code",1]]"#)
    stage.propose(guest, "public/lamp", 1, #"[["set","level",1]]"#)
    let codes = stage.take(guest, "error").map { $0["code"] }
    #expect(codes == ["notPermitted", "notJoined", "notJoined"])
    #expect(stage.take(owner, "commits").allSatisfy { $0["previous"] == 0 })
  }

  @Test("the hub decides each write by the member's rights, and names it")
  mutating func writes() {
    stage.send(guest, GatewayMemberTests.join("public/lamp"))
    stage.propose(guest, "public/lamp", 1, #"[["set","hue",1]]"#)
    stage.propose(guest, "public/lamp", 2, #"[["set","level",9]]"#)
    let outcomes = stage.take(guest, "outcomes").flatMap { $0["outcomes"]?.elements ?? [] }
    #expect(outcomes.map { $0["code"] } == ["notPermitted", nil])
    #expect(outcomes.first?["text"] == "public/lamp.hue: gus (guest) lacks the right write")
    let commits = stage.take(owner, "commits").filter { $0["model"] == "public/lamp" }
    #expect(commits.last?["commits"]?[0]?["user"] == "gus")
  }

  // MARK: The end

  @Test("a join with a forged version or epoch gets a model no earlier, and does not move the hub")
  mutating func forged() {
    for version in ["\"epoch\":\"99\",\"version\":9", "\"epoch\":\"21474836557\",\"version\":9007199254740991"] {
      for model in ["secret/plan", "public/lamp"] {
        stage.send(guest, #"{"kind":"join","model":"\#(model)",\#(version),"unacknowledged":1}"#)
      }
    }
    #expect(Set(stage.take(guest, "catchup").map { $0["model"]?.string }) == ["public/lamp"])
    stage.propose(owner, "public/lamp", 2, #"[["set","level",2]]"#)
    #expect(stage.take(owner, "commits").last?["previous"] == 1)
    #expect(!hasLeaked)
  }

  @Test("when the member's rights change its page ends at once, and what follows is not sent; others go on")
  mutating func taken() {
    let anna = stage.member(3, "anna")
    for page in [guest, anna] { stage.send(page, GatewayMemberTests.join("public/lamp")) }
    var policy = GatewayMemberTests.policy
    policy.roles["guest"]?.patterns[.read] = []
    stage.apply(policy)
    #expect(stage.ended[guest] == 1012 && stage.ended[anna] == nil)
    let before = stage.sent[guest]?.count
    stage.propose(owner, "public/lamp", 2, #"[["set","level",2]]"#)
    stage.wait(1_000)
    #expect(stage.sent[guest]?.count == before && stage.take(anna, "commits").count == 1)
    // The right to write a field of it remains, and includes reading.
    let again = stage.member(7, "gus", role: "guest")
    stage.send(again, GatewayMemberTests.join("public/lamp"))
    stage.send(again, GatewayMemberTests.join("public/new"))
    #expect(stage.take(again, "catchup").map { $0["model"] } == ["public/lamp"])
    #expect(
      errors(stage.take(again, "error")) == ["notPermitted public/new: public/new: gus (guest) lacks the right read"])
  }

  @Test("when the member is revoked its page ends, and a page for it is not welcomed any more")
  mutating func revoked() {
    stage.apply(GatewayMemberTests.members.without(["gus"]))
    #expect(stage.ended[guest] == 1012)
    let again = stage.member(7, "gus", role: "guest")
    #expect(stage.take(again, "welcome").isEmpty && stage.ended[again] == 1012)
  }

  @Test("a page whose browser is let in no longer ends, with its session at the hub")
  mutating func dismissed() {
    #expect(stage.gateway.members.map(\.value.name) == ["gus"])
    stage.act { [guest] gateway, now, output in
      gateway.dismiss(guest, 4006, "signed out", now: now, into: &output)
    }
    #expect(stage.ended[guest] == 4006 && stage.gateway.members.isEmpty)
  }

  @Test("a hub that does not know for whom a hello is serves no member's page")
  mutating func oldHub() {
    stage.isOld = true
    let page = stage.member(6, "gus", role: "guest")
    #expect(stage.take(page, "welcome").isEmpty && stage.ended[page] == 4006)
  }
}
