import BindingKeys
import BindingProtocol
import BindingTerminal
import Foundation

/// Invitations to the hub's pages.
extension Invite {
  /// Prints an address that lets one browser in.
  func invitePage() {
    let keys = choice.keys
    let base = base(of: address.first ?? keyed { () throws(KeyError) in try keys.pagesURL() } ?? "")
    choice.checkRole(role)
    let (code, id) = keyed { () throws(KeyError) in
      try keys.invitePage(name, as: role, lifetime: Int64(lifetime.milliseconds / 1_000), at: now)
    }
    let url = "\(base)/?code=\(code)"
    print(url)
    // A phone takes the address from the screen.
    if isatty(STDERR_FILENO) == 1, let symbol = QRCode(url) {
      StandardStreams.complain(symbol.lines.joined(separator: "\n"))
    }
    let until = date(now + Int64(lifetime.milliseconds / 1_000))
    StandardStreams.complain(
      """
      Pass this address on to \(name) in confidence; it signs one browser in, once, until \(until).
      To withdraw it:  bindhub revoke \(id)\(choice.option)
      """)
    if Invite.isLoopback(base) {
      StandardStreams.complain("Only browsers of this machine reach it. For others, name an address:  --address …")
    }
  }

  /// The address of the pages as others reach it, without path; ends the program if there is none.
  private func base(of text: String) -> String {
    guard !text.isEmpty else {
      fail(
        """
        No hub with these keys has served pages yet.
        Serve them:  bindhub serve --web\(choice.option)
        Or name where they are:  bindhub invite \(name) --page --address https://…
        """, 78)
    }
    guard let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme ?? ""),
      let host = parts.host, !host.isEmpty, ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil,
      parts.user == nil, parts.password == nil
    else {
      fail("'\(PrintedText.escaped(text, limit: 80))' is no address of pages: http://HOST:PORT or https://HOST", 64)
    }
    // What stands for all addresses is replaced by one that others can reach.
    let all = ["0.0.0.0", "[::]", "::"]
    let place = "tcp://" + (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host) + ":\(parts.port ?? 80)"
    guard all.contains(host), let listening = try? HubAddress(place),
      let reached = NetworkAddresses.concrete(listening).first
    else { return text.hasSuffix("/") ? String(text.dropLast()) : text }
    return "\(parts.scheme ?? "http")://\(reached.hostOrPath):\(parts.port ?? 80)"
  }

  private static func isLoopback(_ base: String) -> Bool {
    let host = URLComponents(string: base)?.host ?? ""
    return ["localhost", "::1", "[::1]"].contains(host) || host.hasSuffix(".localhost") || host.hasPrefix("127.")
  }
}
