import BindingProtocol
import Logging

/// What a peer says in its log.
extension PeerRuntime {
  func report(_ notice: Notice) {
    switch notice {
    case .hubError(let code, let fatal, let text):
      log.log(
        level: PeerRuntime.level(of: code, isFatal: fatal),
        "the hub answered \(code): \(PrintedText.escaped(text))")
    case .otherLog(let old, let new):
      log.error(
        "the hub has another log; what was known of the old one is kept aside",
        metadata: ["old": "\(old)", "new": "\(new)"])
    // Sessions of earlier lives look for the same hub as the peer itself, which says it.
    case .noHub where onActions == nil: log.warning("\(noHub); \(cure); this peer goes on when one is there")
    case .hubFound where onActions == nil:
      log.notice("the hub answers\(state.withLock { $0.hubInUse }.map { " at \($0)" } ?? "")")
    case .newEpoch, .unknownIdentity, .diverged: log.info("\(notice)")
    default: log.debug("\(notice)")
    }
  }

  /// How much a hub's refusal matters to people: what a new hello mends by itself is no fault of anybody's.
  static func level(of code: ErrorCode, isFatal: Bool) -> Logger.Level {
    switch code {
    case .closing, .staleStart, .unknownSession: .info
    default: isFatal ? .error : .warning
    }
  }

  var noHub: String {
    if link.addresses.isEmpty { return "the hub in this process does not answer" }
    return "no hub answers at \(link.addresses.map(\.description).joined(separator: " or "))"
  }

  private var cure: String {
    guard let address = link.addresses.first else { return "start it before its peers" }
    if address == .userDefault { return "start one: bindhub serve" }
    if address.isLoopback { return "start one: bindhub serve --listen \(address)" }
    return "look whether it runs there and can be reached from here"
  }
}
