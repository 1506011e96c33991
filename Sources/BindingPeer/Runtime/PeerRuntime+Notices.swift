import BindingProtocol
import Logging

/// What a peer writes to its log.
extension PeerRuntime {
  func report(_ notice: Notice) {
    switch notice {
    case .hubError(let code, let fatal, let text):
      log.log(
        level: PeerRuntime.level(of: code, isFatal: fatal),
        "the hub answered \(code): \(PrintedText.escaped(text))")
    case .otherDraft(let draft):
      log.warning(
        "the hub speaks another draft of the protocol; use the same release for both",
        metadata: ["hub": "\(PrintedText.escaped(draft))", "peer": "\(Capability.draft)"])
    case .otherLog(let old, let new):
      log.error(
        "the hub has another log; the replica of the old log is kept aside",
        metadata: ["old": "\(old)", "new": "\(new)"])
    case .misfit(let words): log.error("\(words)")
    // Sessions of earlier runs look for the same hub as the peer itself, which reports it.
    case .noHub where onEffects == nil: log.warning("\(noHub); \(cure); this peer continues when one answers")
    case .hubFound where onEffects == nil:
      log.notice("the hub answers\(state.withLock { $0.link.hub }.map { " at \($0)" } ?? "")")
    case .newEpoch, .unknownIdentity, .diverged: log.info("\(notice)")
    default: log.debug("\(notice)")
    }
  }

  /// The log level of a hub's error: one that a new hello repairs is information only.
  static func level(of code: ErrorCode, isFatal: Bool) -> Logger.Level {
    switch code {
    case .closing, .staleStart, .unknownSession: .info
    default: isFatal ? .error : .warning
    }
  }

  var noHub: String {
    let (refusal, addresses) = state.withLock { ($0.session.refusal, $0.session.hubs.addresses) }
    let places = addresses.map(\.description).joined(separator: " or ")
    if let refusal { return "the hub at \(places) does not accept this peer: \(PrintedText.escaped(refusal))" }
    return addresses.isEmpty ? "the hub in this process does not answer" : "no hub answers at \(places)"
  }

  private var cure: String {
    guard let address = link.pool.addresses.first else { return "start the hub before its peers" }
    if address == .userDefault { return "start one: bindhub serve" }
    if address.isLoopback { return "start one: bindhub serve --listen \(address)" }
    return "check that it runs there and that this machine can reach it"
  }
}
