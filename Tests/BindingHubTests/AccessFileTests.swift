import BindingProtocol
import Testing

@testable import BindingHub

@Suite("The file of rights")
struct AccessFileTests {
  private static func file(_ roles: String, _ members: String = "{}") -> String {
    #"{"bindbus":"access","version":1,"roles":\#(roles),"members":\#(members)}"#
  }

  @Test("a file says what roles allow and who has them")
  func good() throws {
    let policy = try AccessFile(
      AccessFileTests.file(
        #"{"a":{"read":["x/*"],"write":["lamp.level","fan"],"fanout":true,"admin":false}}"#,
        #"{"anna":["a"],"uid:1000":["a"],"*":[]}"#)
    ).policy
    let anna = policy.rights(of: .named("anna", role: nil))
    #expect(anna.mayRead("x/y") && anna.hasFanout && !anna.isAdmin && !anna.mayRecover)
    #expect(anna.rights(on: "lamp").write.contains("level") && !anna.rights(on: "lamp").write.contains("hue"))
    #expect(policy.names == ["anna": ["a"], "uid:1000": ["a"], "*": []])
  }

  @Test("of several roles the most generous limit counts, and a role that names none has the standard one")
  func limits() throws {
    let file = try AccessFile(
      AccessFileTests.file(
        #"{"few":{"limits":{"connections":4,"writesPerSecond":9000}},"some":{"limits":{"connections":8}},"any":{}}"#,
        #"{"anna":["few","some"],"ben":["few","any"],"cleo":["few"],"uid:7":["few"],"*":[]}"#))
    func limits(_ user: HubPrincipal) -> NameLimits? { AccessPolicy.limits(of: user, by: file.policy) }
    #expect(limits(.named("anna", role: nil))?[.connections] == 8)
    #expect(limits(.named("anna", role: nil))?[.writesPerSecond] == 9_000)
    #expect(limits(.named("ben", role: nil))?[.connections] == NameLimits.Kind.connections.standard)
    #expect(limits(.named("cleo", role: nil))?[.connections] == 4)
    #expect(limits(.named("dora", role: nil)) == NameLimits())
    #expect(limits(.named("dora", role: "few"))?[.connections] == 4)
    #expect(limits(.owner(name: "uid:7"))?[.connections] == 4)
    #expect(limits(.owner(name: "uid:8")) == nil && limits(.owner(name: nil)) == nil)
  }

  @Test("a limit beyond what a hub has in all is warned about")
  func limitWarnings() throws {
    let file = try AccessFile(
      AccessFileTests.file(#"{"a":{"limits":{"sessions":5000,"models":9}}}"#, #"{"anna":["a"]}"#))
    #expect(file.warnings == ["The role a may have 5000 sessions, and a hub has 1000 in all"])
  }

  @Test(
    "a wrong file is refused with the place and the reason",
    arguments: [
      ("{", "the file: is not JSON"),
      ("[]", "the file: must be an object"),
      ("{}", #"the file: must say "bindbus": "access""#),
      (#"{"bindbus":"access","version":2}"#, "version: must be 1"),
      (#"{"bindbus":"access","version":1,"role":{}}"#, "the file: has 'role', which is unknown; known are bindbus"),
      (file(#"{"a":{},"a":{}}"#), "roles: has 'a' twice"),
      (file(#"{"a":{"reed":[]}}"#), "roles.a: has 'reed', which is unknown; known are read, write"),
      (file(#"{"a":{"read":"x"}}"#), "roles.a.read: must be a list of texts"),
      (file(#"{"a":{"read":[1]}}"#), "roles.a.read: must be a list of texts"),
      (
        file(#"{"a":{"read":["lamp.secret"]}}"#),
        "roles.a.read: read reaches whole models, and lamp.secret names a field"
      ),
      (file(#"{"a":{"write":["lamp."]}}"#), "roles.a.write: 'lamp.' can match nothing"),
      (file(#"{"a":{"fanout":1}}"#), "roles.a.fanout: must be true or false"),
      (file(#"{"a":{"limits":{"writes":1}}}"#), "roles.a.limits: has 'writes', which is unknown; known are conn"),
      (file(#"{"a":{"limits":[]}}"#), "roles.a.limits: must be an object"),
      (file(#"{"a":{"limits":{"sessions":0}}}"#), "roles.a.limits.sessions: must be a whole number from 1"),
      (file(#"{"a":{"limits":{"models":2000000000}}}"#), "roles.a.limits.models: must be a whole number"),
      (file(#"{"a":{"limits":{"connections":1.5}}}"#), "roles.a.limits.connections: must be a whole number"),
      (file(#"{"a":{"limits":{"connections":"9"}}}"#), "roles.a.limits.connections: must be a whole number"),
      (file(#"{"a b":{}}"#), "roles: 'a b' is not a member's name"),
      (file("{}", #"{"anna":["b"]}"#), "members.anna: names the role 'b', which roles does not define"),
      (file("{}", #"{"uid:x":[]}"#), "members: 'uid:x' is not a member's name"),
      (file("{}", #"{"anna":[],"anna":[]}"#), "members: has 'anna' twice"),
    ])
  func wrong(_ text: String, _ problem: String) {
    #expect {
      _ = try AccessFile(text)
    } throws: {
      "\($0)".hasPrefix(problem)
    }
  }

  @Test("a role that nobody has, and one that keeps models from being published, are warned about")
  func warnings() throws {
    let file = try AccessFile(
      AccessFileTests.file(
        #"{"all":{"write":["*"],"fanout":true},"few":{"read":["x"],"fanout":true},"idle":{}}"#,
        #"{"a":["all"],"b":["few"]}"#))
    #expect(file.warnings.count == 2)
    #expect(file.warnings.first?.hasPrefix("Nobody has the role idle") == true)
    #expect(file.warnings.last?.hasPrefix("The role few has fanout") == true)
  }
}
