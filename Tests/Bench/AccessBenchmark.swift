import ArgumentParser
import BindingHub
import BindingProtocol

/// What a large file of rights costs: to read it, to look rights up, and to find out which models may be published.
/// The ratio of each look-up is to one in a dictionary of as many names, in the same round.
struct AccessBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access", abstract: "Measure rights with many roles and names against a dictionary of those names.")

  @Option(help: "Rounds of all figures in turn.")
  var rounds = 7
  @Option(help: "Roles of the file.")
  var roles = 10_000
  @Option(help: "Names of the file.")
  var names = 100_000
  @Option(help: "Models whose publishing is decided.")
  var models = 1_000

  func run() throws {
    let text = file(withFanout: false)
    var reading: [Double] = []
    var looking: [(rights: Double, mayRead: Double, plain: Double)] = []
    var publishing: [Double] = []
    let asked = (0..<100_000).map { _ in "user-\(Int.random(in: 0..<names))" }
    for _ in 0..<rounds {
      var begin = now()
      let policy = try AccessFile(text).policy
      reading.append(Double(now() - begin) / 1e6)
      publishing.append(try publishingTime(policy))
      let plain = policy.names
      begin = now()
      var found = 0
      for name in asked where plain[name] != nil { found += 1 }
      let plainTime = now() - begin
      begin = now()
      let rights = asked.map { policy.rights(of: .named($0, role: nil)) }
      let rightsTime = now() - begin
      begin = now()
      for user in rights where user.mayRead("shop/1/till") { found += 1 }
      let readTime = now() - begin
      guard found > asked.count / 2 else { throw ExitCode(1) }
      let scale = 1 / Double(asked.count)
      looking.append((Double(rightsTime) * scale, Double(readTime) * scale, Double(plainTime) * scale))
    }
    let limiting = try AccessFile(file(withFanout: true)).policy
    let limited = try (0..<rounds).map { _ in try publishingTime(limiting) }
    print("\(roles) roles, \(names) names, \(text.utf8.count >> 10) KiB, \(models) models; medians of \(rounds) rounds")
    figure("reading the file", reading, "ms")
    figure("a name's look-up in a dictionary", looking.map(\.plain), "ns")
    figure("the rights of a name", looking.map(\.rights), "ns", looking.map { $0.rights / $0.plain })
    figure("whether it may read a model", looking.map(\.mayRead), "ns", looking.map { $0.mayRead / $0.plain })
    figure("which models are published", publishing, "ms")
    figure("the same, with a limiting fanout in every role", limited, "ms")
  }

  /// Milliseconds to find out that all models are published.
  private func publishingTime(_ policy: AccessPolicy) throws -> Double {
    let begin = now()
    for model in 0..<models where !policy.isPublished("shop/\(model)/till") { throw ExitCode(1) }
    return Double(now() - begin) / 1e6
  }

  /// Half of the roles read all shops, the others one; with fanout each also reads models of its own.
  private func file(withFanout: Bool) -> String {
    let roles = (0..<roles).map { role in
      let reads = withFanout ? "\"\(role)-*\", \"shop/*\"" : role % 2 == 0 ? "\"shop/*\"" : "\"shop/1/*\""
      return "\"role-\(role)\": { \"read\": [\(reads)], \"fanout\": \(withFanout) }"
    }
    let members = (0..<names).map { "\"user-\($0)\": [\"role-\($0 % self.roles)\"]" }
    return """
      { "bindbus": "access", "version": 1, "roles": { \(roles.joined(separator: ",")) },
        "members": { \(members.joined(separator: ",")) } }
      """
  }

  private func figure(_ name: String, _ figures: [Double], _ unit: String, _ ratios: [Double] = []) {
    func words(_ values: [Double]) -> String {
      let sorted = values.sorted()
      return [sorted[sorted.count / 2], sorted[0], sorted[sorted.count - 1]]
        .map { "\(($0 * 100).rounded() / 100)" }.joined(separator: "  ")
    }
    let ratio = ratios.isEmpty ? "" : "   × \(words(ratios))"
    print("\(name): \(words(figures)) \(unit) (median, least, greatest)\(ratio)")
  }
}
