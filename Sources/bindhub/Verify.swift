import ArgumentParser
import BindingHub
import BindingKeys
import BindingProtocol
import BindingTerminal
import Foundation

/// Compares all peers' replicas with those of a running hub, and of the other hubs of its log.
struct VerifyReplicas: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Verify that the replicas of all peers equal the hub's. Prints one line per model.",
    discussion: """
      The hub asks each peer that has joined a model for a digest of its values, and compares it with its own digest \
      of the same version. Peers may write meanwhile. Where several hubs share a log and know each other, all are \
      asked, and the lines count the peers of all. Exit codes: 0 all replicas are equal, 1 a replica differs (or no \
      such model exists), 69 no hub answers, 75 a peer or another hub did not answer in time, 76 a hub is too old to \
      verify.
      """)

  @Argument(help: "Models, or prefixes that end in '/'. Default: all models.")
  var names: [String] = []

  @OptionGroup var choice: HubChoice

  @Flag(name: .long, help: "Print one JSON object per model.")
  var json = false

  @Option(name: .long, help: "Milliseconds to wait for peers, for each 64 models; at most 60000.")
  var timeout = 5_000

  func validate() throws {
    if !(1...60_000).contains(timeout) { throw ValidationError("--timeout must be 1 to 60000, not \(timeout)") }
    if names.count > 255 { throw ValidationError("\(names.count) models and prefixes; at most 255 are allowed") }
    for name in names {
      do throws(WireError) {
        if name.hasSuffix("/") { try Names.checkPrefix(name) } else { try Names.checkModel(name) }
      } catch {
        throw ValidationError("'\(name)' \(error.problem)")
      }
    }
  }

  func run() throws {
    let (address, first, member) = ask()
    var answers = [(address: address, findings: first)]
    var absent: [HubAddress] = []
    for other in others(of: address, member) {
      guard let findings = findings(of: other, member) else {
        absent.append(other)
        continue
      }
      answers.append((other, findings))
    }
    let findings = HubVerification.sum(answers)
    for finding in findings { print(json ? finding.json.text : finding.words) }
    if findings.isEmpty, !names.isEmpty { fail("The hub has no such model.", 1) }
    if findings.contains(where: { !$0.different.isEmpty }) {
      fail(
        "Replicas differ from the hub's. Their peers detect this within eight heartbeats, and get the model again.", 1)
    }
    if findings.contains(where: { !$0.silent.isEmpty }) {
      fail(
        """
        Some peers did not answer within \(timeout) ms. To wait longer:  --timeout MILLISECONDS
        The hub expects answers of a killed peer until its lease ends, 10 s after its last message.
        """, 75)
    }
    if !absent.isEmpty {
      let places = absent.map(\.description).joined(separator: ", ")
      fail("No hub answers at \(places): the replicas of its peers were not compared.", 75)
    }
  }

  /// The findings of the first address that answers; ends the program if there are none.
  private func ask() -> (address: HubAddress, findings: [HubVerification.Finding], member: KnownHub?) {
    let (addresses, member) = choice.places()
    for address in addresses {
      // The hub may be restarting.
      if address.isCertainlyAbsent { Thread.sleep(forTimeInterval: 0.5) }
      if let findings = findings(of: address, member) { return (address, findings, member) }
    }
    fail(choice.noAnswer(at: addresses[0], to: "verify", as: member), 69)
  }

  /// What a hub has found; nil: none answers there. Ends the program if it refuses.
  private func findings(of address: HubAddress, _ member: KnownHub?) -> [HubVerification.Finding]? {
    if address.isCertainlyAbsent { return nil }
    do throws(HubVerification.VerificationError) {
      return try HubVerification.ask(address, as: member, names: names, timeout: .milliseconds(timeout))
    } catch {
      if error != .noHub { fail(error.words(address), error.exitCode) }
      return nil
    }
  }

  /// The hubs that share a hub's log, as it knows them.
  private func others(of address: HubAddress, _ member: KnownHub?) -> [HubAddress] {
    guard
      case .report(let report) = HubStatus.answer(from: address, as: member, timeout: .milliseconds(timeout)),
      report["store"]?["shared"] != nil
    else { return [] }
    return (report["hubs"]?.elements ?? []).compactMap { $0.string.flatMap { try? HubAddress($0) } }
  }
}

extension HubVerification.VerificationError {
  fileprivate func words(_ address: HubAddress) -> String {
    switch self {
    case .noHub: "No hub answers at \(address)."
    case .hubTooOld: "The hub at \(address) cannot verify replicas. Restart it with this version of bindhub."
    case .refused(let text): "The hub refused: \(text). Try again later."
    case .notPermitted(let text): HubChoice.refusal(text)
    case .restarted: "The hub was restarted meanwhile. Run the command again."
    }
  }

  fileprivate var exitCode: Int32 {
    switch self {
    case .noHub: 69
    case .hubTooOld: 76
    case .refused, .restarted: 75
    case .notPermitted: 77
    }
  }
}
