import BindingProtocol
import Logging

extension Logger {
  /// Logs a notice of the machine.
  func report(_ notice: HubNotice) {
    switch notice {
    case .healed(let peer, let model, let version):
      warning(
        "a peer had other values at the same version, and has repaired its replica",
        metadata: ["peer": "\(peer)", "model": "\(model)", "version": "\(version)"])
    case .ahead(let peer, let model, let version, let here):
      warning(
        "a peer has commits of an older epoch that are missing here; recovery from peers is off",
        metadata: ["peer": "\(peer)", "model": "\(model)", "version": "\(version)", "here": "\(here)"])
    case .otherLog(let hub):
      warning(
        "a hub that --sibling names keeps another log: presence there is not shown here", metadata: ["hub": "\(hub)"])
    case .unreadableHistory(let model, let problem):
      error("cannot read history", metadata: ["model": "\(model)", "error": "\(problem)"])
    case .draining(let sessions):
      self.notice(
        "draining: no new sessions; those that are open go to other hubs", metadata: ["sessions": "\(sessions)"])
    case .denied(let text): debug("denied: \(text)")
    case .limited(let name, let kind, let limit, let times):
      warning(
        "a name has reached its limit",
        metadata: ["name": "\(name)", "limit": "\(kind.rawValue) \(limit)", "times": "\(times)"])
    case .declaredOtherwise(let peer, let model, let differences):
      warning(
        "a peer declares a model differently from its description: \(differences.words)",
        metadata: ["peer": "\(peer)", "model": "\(model)"])
    case .differs(let peer, let model, let version):
      error(
        "a peer has other values at the same version",
        metadata: ["peer": "\(peer)", "model": "\(model)", "version": "\(version)"])
    }
  }

  /// Logs the warnings about a new transport.
  func report(_ transport: ZeroMQTransport) {
    guard !transport.sockets.addresses.isEmpty else { return }
    if !transport.sockets.isGuarded {
      warning("the size of multipart messages is not limited on this system: only trusted clients may connect")
    }
    if OpenFiles.limit < OpenFiles.plenty {
      warning(
        "the limit of open files is low; raise it:  ulimit -n 1024",
        metadata: ["files": "\(OpenFiles.limit)", "connections": "\(transport.maxConnections)"])
    }
  }
}
