import BindingHub
import BindingProtocol
import BindingWeb
import Foundation
import Logging
import Testing

/// A hub in this process and its gateway, on an ephemeral port.
final class Site {
  let hub: Hub
  let gateway: WebGateway
  let port: Int
  /// Where test clients connect instead, if the gateway encrypts.
  var clientPort: Int

  init(_ change: (inout WebGateway.Configuration) -> Void = { _ in }) throws {
    hub = try Hub.embedded()
    var configuration = WebGateway.Configuration()
    configuration.address = try WebAddress("127.0.0.1:0")
    change(&configuration)
    gateway = WebGateway(
      hub: hub, configuration: configuration, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    try gateway.start()
    port = try #require(gateway.address.split(separator: ":").last.flatMap { Int($0) })
    clientPort = port
  }

  deinit {
    gateway.stop()
    hub.stop()
  }

  var host: String { "127.0.0.1:\(port)" }
  var bearer: String { "Authorization: Bearer \(gateway.token ?? "")" }
  /// The cookie line of an authenticated browser, with a new session at each access.
  var cookie: String { "Cookie: other=1; \((try? session()) ?? "")" }

  /// The session cookie that a browser gets for a code, `NAME=VALUE`.
  func session(host: String? = nil) throws -> String {
    let reply = try ask("GET", "/?code=\(code)", [], host: host)
    return String(try #require(reply["set-cookie"]).prefix { $0 != ";" })
  }

  /// A new code.
  var code: String { String(gateway.url.split(separator: "=").last ?? "") }
  var origin: String { "Origin: \(gateway.configuration.certificate == nil ? "http" : "https")://\(host)" }

  func client(receiveBytes: Int32? = nil) throws -> RawClient {
    try RawClient(port: clientPort, receiveBytes: receiveBytes)
  }

  /// Sends one request on a new connection, with the token unless other lines are given.
  func ask(_ method: String = "GET", _ target: String, _ lines: [String]? = nil, host: String? = nil) throws
    -> RawClient.Reply
  {
    try client().ask(method, target, lines ?? [bearer], host: host ?? self.host)
  }

  /// Opens a WebSocket as a page of the gateway does.
  func page(receiveBytes: Int32? = nil) throws -> RawClient {
    let client = try client(receiveBytes: receiveBytes)
    let reply = try client.upgrade([cookie, origin], host: host)
    try #require(reply.status == 101, "\(reply.status) \(reply.text)")
    return client
  }

  /// Opens a WebSocket whose page has been welcomed.
  func welcomedPage(receiveBytes: Int32? = nil) throws -> RawClient {
    try #require(waitUntilReady())
    let page = try page(receiveBytes: receiveBytes)
    page.sendText(Site.hello)
    _ = try page.frame { $0.opcode == 1 && $0.text.contains("welcome") }
    return page
  }

  /// The hello of a peer with a new identity.
  static var hello: String {
    GatewayStage.hello(Identity(secret: .random(), name: "page"))
  }

  /// Waits at most 20 s. Returns whether the hub has welcomed the gateway.
  func waitUntilReady() -> Bool { eventually { try self.ask("GET", "/readyz", []).status == 200 } }

  /// The number of times that a page's queue was full.
  func fullPages() throws -> Int64 {
    try JSON(parsing: ask("GET", "/status.json").body)["web"]?["counters"]?["fullPages"]?.int64 ?? -1
  }

  /// The number of refusals of this kind so far.
  func refusals(_ name: String) throws -> Int64 {
    try JSON(parsing: ask("GET", "/status.json").body)["web"]?["refusals"]?[name]?.int64 ?? -1
  }
}

/// Polls until `condition` holds. Returns false if it does not within 20 s.
func eventually(_ condition: () throws -> Bool) -> Bool {
  let end = Date(timeIntervalSinceNow: 20)
  while Date() < end {
    if (try? condition()) == true { return true }
    usleep(5_000)
  }
  return false
}
