import ArgumentParser
import BindingHub
import BindingProtocol
import BindingTerminal
import Foundation

/// Compares all peers' replicas with those of a running hub.
struct VerifyReplicas: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Prove that every peer holds what the hub holds: one line a model.",
    discussion: """
      Every peer that has joined a model is asked for the digest of its values, and held against what the hub had at \
      that same version; peers may go on writing. Exit codes: 0 all equal, 1 a difference (or no such model), 75 a \
      peer did not answer in time, 69 no hub, 76 the hub is too old to be asked.
      """)

  @Argument(help: "Models, or prefixes that end in '/'; without any: all models.")
  var names: [String] = []

  @OptionGroup var choice: HubChoice

  @Flag(name: .long, help: "Print one JSON object a model.")
  var json = false

  @Option(name: .long, help: "Milliseconds to wait for peers, for every 64 models; 60000 at most.")
  var timeout = 5_000

  func validate() throws {
    if !(1...60_000).contains(timeout) { throw ValidationError("--timeout takes 1 to 60000, not \(timeout)") }
    if names.count > 255 { throw ValidationError("\(names.count) models and prefixes; 255 are allowed") }
    for name in names {
      do throws(WireError) {
        if name.hasSuffix("/") { try Names.checkPrefix(name) } else { try Names.checkModel(name) }
      } catch {
        throw ValidationError("'\(name)' \(error.problem)")
      }
    }
  }

  func run() throws {
    let address = choice.address()
    if address.isCertainlyAbsent {
      // The hub may be restarting.
      Thread.sleep(forTimeInterval: 0.5)
      if address.isCertainlyAbsent { fail(choice.noAnswer(at: address, to: "verify"), 69) }
    }
    let findings: [HubVerification.Finding]
    do throws(HubVerification.VerificationError) {
      findings = try HubVerification.ask(address, names: names, timeout: .milliseconds(timeout))
    } catch {
      fail(error.words(address, choice), error.exitCode)
    }
    for finding in findings { print(json ? finding.json.text : finding.words) }
    if findings.isEmpty, !names.isEmpty { fail("The hub has no such model.", 1) }
    if findings.contains(where: { !$0.different.isEmpty }) {
      fail(
        "Peers differ from the hub. They find out by themselves within eight heartbeats, and take the model anew.", 1)
    }
    if findings.contains(where: { !$0.silent.isEmpty }) {
      fail(
        """
        Some peers have not answered within \(timeout) ms. Give them longer:  --timeout
        One that was killed is asked until its lease is over, 10 s after it was heard last, and no more then.
        """, 75)
    }
  }
}

extension HubVerification.VerificationError {
  func words(_ address: HubAddress, _ choice: HubChoice) -> String {
    switch self {
    case .noHub: choice.noAnswer(at: address, to: "verify")
    case .hubTooOld: "The hub at \(address) cannot be asked this: start it anew with this version of bindhub."
    case .refused(let text): "The hub refuses: \(text). Try again when they are done."
    case .restarted: "The hub was started anew meanwhile. Ask again."
    }
  }

  var exitCode: Int32 {
    switch self {
    case .noHub: 69
    case .hubTooOld: 76
    case .refused, .restarted: 75
    }
  }
}
