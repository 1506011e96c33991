import ArgumentParser
import BindingKeys
import BindingProtocol
import Foundation
import Simulation
import ZeroMQ

/// Everything that a hub must withstand, at a steady rate.
struct Hostile: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send a hub with keys what no peer sends, of many kinds.",
    discussion: """
      Prints 'hostile' when it begins, and at the end one line of JSON: how many frames, connections and requests \
      there were of each kind. Exit: 0 all was sent, 1 the hub let a stranger in, 75 it took more than twice the time.
      """)

  @Option(help: "The directory in which a member without rights remembers the hub, as 'shop'.")
  var known: String
  @Option(help: "A file with an invitation that nobody uses.")
  var invitation: String
  @Option(help: "The hub's ipc address.")
  var ipc: String
  @Flag(help: "Send frames over ipc too: only as a user who may not write what peers write.")
  var isStranger = false
  @Option(help: "The port of its pages.")
  var web: Int
  @Option(help: "So many frames, connections and requests in all.")
  var total = 1_000_000
  @Option(help: "So many whole handshakes among them.")
  var handshakes = 50_000
  @Option(help: "In so many seconds.")
  var seconds = 600.0
  @Option(help: "Determines what is sent.")
  var seed: UInt64 = 1

  func validate() throws {
    if !(1...100_000_000).contains(total) { throw ValidationError("--total takes 1 to 100000000") }
    if !(0...total).contains(handshakes) { throw ValidationError("--handshakes takes 0 to --total") }
    if !(1...86_400).contains(seconds) { throw ValidationError("--seconds takes 1 to 86400") }
  }

  func run() throws {
    let plans = try makePlans()
    let began = Date()
    FileHandle.standardOutput.write(Data("hostile\n".utf8))
    let running = Running(plans)
    for index in plans.indices {
      Thread.detachNewThread { [seconds] in
        running.carryOut(index) { Date().timeIntervalSince(began) / seconds }
      }
    }
    let results = running.wait()
    let kinds = results.map { result in
      JSON.Member(
        result.name,
        .object([
          .init("done", .integer(Int64(result.done))), .init("failures", .integer(Int64(result.failures))),
          .init("last", .string(result.lastFailure)),
        ]))
    }
    print(
      JSON.object([
        .init("seconds", .number(Date().timeIntervalSince(began))), .init("kinds", .object(kinds)),
      ]).text)
    if results.contains(where: { $0.lastFailure.contains("LET IN") }) { throw ExitCode(1) }
    if running.isLate { throw ExitCode(75) }
  }

  /// What each thread does.
  private func makePlans() throws -> [AttackPlan] {
    let hub = try KnownHub(named: "shop", in: known)
    let request = try HubAddress(tcp: "127.0.0.1", port: hub.addresses.compactMap(\.port).first.orThrow())
    let publish = "tcp://127.0.0.1:\((request.port ?? 0) + 1)"
    let member = hub.options(to: request.description)
    let line = try String(contentsOfFile: invitation, encoding: .utf8)
    let guest: [SocketOption] = [
      .encryptedClient(server: hub.hubKey, own: try KeyPair(of: try Invitation(line: line).secret))
    ]
    let guesses = HostileFrames.Kind(name: "enrolments of noise, by an invitation", isWelcomed: false) { chance, _ in
      [0x0F] + (0..<44 + chance.below(40)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    }
    let tcp = request.description
    let groups: [[any Attack]] = [
      (isStranger ? HostileFrames.kinds : []).map { FrameAttack($0, over: "ipc", ipc, []) } + [
        SubscriptionAttack(over: "ipc", ipc + ".pub", [])
      ],
      HostileFrames.kinds.map { FrameAttack($0, over: "tcp", tcp, member) } + [
        FrameAttack(guesses, over: "tcp", tcp, guest), SubscriptionAttack(over: "tcp", publish, member),
        ManyPartsAttack(tcp, member),
      ],
      RawAttack.atPorts(tcp: [tcp, publish], ipc: [ipc, ipc + ".pub"])
        + RawAttack.atPages("tcp://127.0.0.1:\(web)"),
    ]
    let shares = groups.joined().reduce(0) { $0 + $1.share }
    let rest = total - handshakes
    let plans = groups.enumerated().map { index, attacks in
      AttackPlan(attacks.map { ($0, max(1, rest * $0.share / shares)) }, seed: seed &+ UInt64(index))
    }
    let strangers: [(attack: any Attack, target: Int)] = [
      (HandshakeAttack(.dealer, at: tcp, hub.hubKey), handshakes / 2),
      (HandshakeAttack(.sub, at: publish, hub.hubKey), handshakes - handshakes / 2),
    ]
    return plans + [AttackPlan(strangers, seed: seed)]
  }
}

extension Int? {
  fileprivate func orThrow() throws -> Int {
    guard let self else { throw ValidationError("the hub is known by no tcp address") }
    return self
  }
}

/// The threads of a run.
private final class Running: @unchecked Sendable {  // SAFETY: `plans` and `late` are touched only under `condition`
  private let condition = NSCondition()
  private var plans: [AttackPlan?]
  private var done: [AttackPlan] = []
  private var late = false

  init(_ plans: [AttackPlan]) { self.plans = plans }

  var isLate: Bool {
    condition.lock()
    defer { condition.unlock() }
    return late
  }

  /// Carries out a plan on the calling thread.
  func carryOut(_ index: Int, elapsed: () -> Double) {
    condition.lock()
    var plan = plans[index].take()
    condition.unlock()
    while plan?.isOver == false, elapsed() < 2 {
      if plan?.strike(elapsed: elapsed()) != true { Thread.sleep(forTimeInterval: 0.002) }
    }
    condition.lock()
    if let plan {
      done.append(plan)
      late = late || !plan.isOver
    }
    condition.signal()
    condition.unlock()
  }

  /// Waits for all of them.
  func wait() -> [(name: String, done: Int, failures: Int, lastFailure: String)] {
    condition.lock()
    defer { condition.unlock() }
    while done.count < plans.count { condition.wait() }
    return done.flatMap(\.results)
  }
}
