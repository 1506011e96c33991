import BindingProtocol
import Testing

@testable import BindingHub

@Suite("Roles and patterns")
struct AccessPolicyTests {
  private static func role(_ right: AccessRole.Right, _ patterns: String..., fanout: Bool = false) -> AccessRole {
    AccessRole([right: patterns.compactMap { AccessPattern($0) }], fanout: fanout)
  }

  /// What a pattern means, without a thought for time.
  private static func matches(_ pattern: Substring, _ text: Substring) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    if first == "*" {
      return matches(pattern.dropFirst(), text) || (!text.isEmpty && matches(pattern, text.dropFirst()))
    }
    return text.first == first && matches(pattern.dropFirst(), text.dropFirst())
  }

  @Test("another hub of the log reads everything, whatever the policy says of others, and changes nothing")
  func sibling() {
    let rights = AccessPolicy(roles: [:], names: ["*": []]).rights(of: .sibling)
    #expect(rights.mayRead("lamp") && rights.mayRead(Names.ephemeral("shop/lamp")) && rights.hasFanout)
    let lamp = rights.rights(on: "lamp")
    #expect(lamp.write == .none && lamp.delete == .none)
    #expect(!lamp.mayOwn && !lamp.mayBePresent && !lamp.mayDescribe && !lamp.mayRecover)
    #expect(!rights.isAdmin && !rights.isGateway && !rights.mayRecover)
  }

  @Test("a pattern matches what its definition says, in 20,000 random cases")
  func patterns() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let pattern = String((0..<Int.random(in: 1...7, using: &random)).map { _ in "ab*".randomElement() ?? "a" })
      let text = String((0..<Int.random(in: 0...9, using: &random)).map { _ in "ab".randomElement() ?? "a" })
      let found = try #require(AccessPattern(pattern)).matches(model: text)
      #expect(found == AccessPolicyTests.matches(pattern[...], text[...]), "\(pattern) on \(text)")
    }
  }

  @Test("a pattern of many stars takes no time that grows beyond the product of the lengths")
  func stars() throws {
    let pattern = try #require(AccessPattern(String(repeating: "a*", count: 100) + "b"))
    #expect(!pattern.matches(model: String(repeating: "a", count: 200)))
  }

  @Test(
    "what can match nothing is no pattern", arguments: ["", ".", "lamp.", ".level", "a b", "lamp.a/b", "lamp.a.b", "ä"])
  func none(_ text: String) { #expect(AccessPattern(text) == nil) }

  @Test("every right but `history`, which only limits, includes to read the model")
  func reading() {
    #expect(!AccessPolicyTests.role(.history, "lamp").allows(.read, on: "lamp"))
    for right in AccessRole.Right.allCases where right != .history {
      #expect(AccessPolicyTests.role(right, "lamp").allows(.read, on: "lamp"), "\(right)")
      #expect(!AccessPolicyTests.role(right, "lamp").allows(.read, on: "fan"), "\(right)")
    }
  }

  @Test("who is not named has what the star has, or the role of the invitation, or nothing")
  func names() {
    var policy = AccessPolicy(
      roles: ["all": AccessPolicyTests.role(.read, "*"), "some": AccessPolicyTests.role(.read, "lamp")],
      names: ["ann": ["some"]])
    #expect(policy.rights(of: .named("ann", role: "all")).mayRead("lamp"))
    #expect(!policy.rights(of: .named("ann", role: "all")).mayRead("fan"))
    #expect(policy.rights(of: .named("ben", role: "all")).mayRead("fan"))
    #expect(!policy.rights(of: .named("ben", role: nil)).mayRead("lamp"))
    policy.names["*"] = ["some"]
    #expect(policy.rights(of: .named("ben", role: nil)).mayRead("lamp"))
  }

  @Test("the hub's own user may do everything unless the policy names it")
  func owner() {
    var policy = AccessPolicy(roles: ["none": AccessRole()], names: ["*": ["none"]])
    #expect(policy.rights(of: .owner(name: "uid:7")).isUnlimited && policy.rights(of: .owner(name: nil)).isUnlimited)
    policy.names["uid:7"] = ["none"]
    #expect(!policy.rights(of: .owner(name: "uid:7")).mayRead("lamp"))
    #expect(policy.rights(of: .owner(name: nil)).isUnlimited)
  }

  @Test("a pattern of fields allows those; one of a model all but the description")
  func fields() {
    let policy = AccessPolicy(
      roles: ["a": AccessPolicyTests.role(.write, "lamp.l*", "fan")], names: ["ann": ["a"]])
    let user = policy.rights(of: .named("ann", role: nil))
    let lamp = user.rights(on: "lamp")
    #expect(lamp.write.contains("level") && !lamp.write.contains("hue") && !lamp.isBelieved)
    let fan = user.rights(on: "fan")
    #expect(fan.write == .all && fan.isBelieved)
    #expect(fan.missing(toChange: Names.description, isDeletion: false, isEphemeral: false) == .describe)
  }

  @Test("a model is published if every role with fanout may read it, whoever has the role")
  func published() {
    var policy = AccessPolicy(roles: [
      "all": AccessPolicyTests.role(.write, "*", fanout: true), "few": AccessPolicyTests.role(.read, "lamp"),
    ])
    #expect(policy.isPublished("lamp") && policy.isPublished("fan"))
    policy.roles["few"]?.fanout = true
    #expect(policy.isPublished("lamp") && !policy.isPublished("fan"))
    #expect(policy.rolesThatPreventPublishing("fan") == ["few"])
  }

  @Test("a model is published exactly if no role prevents it, in 2,000 random policies")
  func publishedLikeEachRole() {
    let patterns = ["*", "a*", "*b", "a/*", "a.x", "*.y", "b"].compactMap { AccessPattern($0) }
    for _ in 0..<2_000 {
      var policy = AccessPolicy()
      for role in 0..<Int.random(in: 0...6) {
        let right = AccessRole.Right.allCases.randomElement() ?? .read
        policy.roles["r\(role)"] = AccessRole(
          [right: Array(patterns.shuffled().prefix(.random(in: 0...3)))], fanout: .random())
      }
      for model in ["a", "b", "ab", "a/b"] {
        #expect(policy.isPublished(model) == policy.rolesThatPreventPublishing(model).isEmpty, "\(policy) \(model)")
      }
    }
  }
}
