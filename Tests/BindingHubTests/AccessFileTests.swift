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
