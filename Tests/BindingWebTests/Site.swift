import BindingHub
import BindingProtocol
import BindingWeb
import Foundation
import Logging
import Testing

/// A hub of this process and its gateway, on a port of its own.
final class Site {
  let hub: Hub
  let gateway: WebGateway
  let port: Int

  init(_ change: (inout WebOptions) -> Void = { _ in }) throws {
    hub = try Hub.embedded()
    var options = WebOptions()
    options.address = try WebAddress("127.0.0.1:0")
    change(&options)
    gateway = WebGateway(
      hub: hub, options: options, log: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    try gateway.start()
    port = try #require(gateway.address.split(separator: ":").last.flatMap { Int($0) })
  }

  deinit {
    gateway.stop()
    hub.stop()
  }

  var host: String { "127.0.0.1:\(port)" }
  var bearer: String { "Authorization: Bearer \(gateway.token ?? "")" }
  /// What a browser shows that was let in, with a session of its own at each look.
  var cookie: String { "Cookie: other=1; \((try? session()) ?? "")" }

  /// What a browser gets for a code, `NAME=VALUE`.
  func session(host: String? = nil) throws -> String {
    let reply = try ask("GET", "/?code=\(code)", [], host: host)
    return String(try #require(reply["set-cookie"]).prefix { $0 != ";" })
  }

  /// A new code.
  var code: String { String(gateway.url.split(separator: "=").last ?? "") }
  var origin: String { "Origin: http://\(host)" }

  func client(receiveBytes: Int32? = nil) throws -> RawClient {
    try RawClient(port: port, receiveBytes: receiveBytes)
  }

  /// One request on a connection of its own, with the token unless other lines are given.
  func ask(_ method: String = "GET", _ target: String, _ lines: [String]? = nil, host: String? = nil) throws
    -> RawClient.Reply
  {
    try client().ask(method, target, lines ?? [bearer], host: host ?? self.host)
  }

  /// A WebSocket, as a page of the gateway opens it.
  func page(receiveBytes: Int32? = nil) throws -> RawClient {
    let client = try client(receiveBytes: receiveBytes)
    let reply = try client.upgrade([cookie, origin], host: host)
    try #require(reply.status == 101, "\(reply.status) \(reply.text)")
    return client
  }

  /// A WebSocket whose page has been welcomed.
  func welcomedPage(receiveBytes: Int32? = nil) throws -> RawClient {
    try #require(waitUntilReady())
    let page = try page(receiveBytes: receiveBytes)
    page.sendText(Site.hello)
    _ = try page.frame { $0.opcode == 1 && $0.text.contains("welcome") }
    return page
  }

  /// The hello of a peer that was never here.
  static var hello: String {
    GatewayStage.hello(Identity(secret: .random(), name: "page"))
  }

  /// Whether the hub lets the gateway in, within 20 s.
  func waitUntilReady() -> Bool { eventually { try self.ask("GET", "/readyz", []).status == 200 } }

  /// How often a page took no more for a while.
  func fullPages() throws -> Int64 {
    try JSON(parsing: ask("GET", "/status.json").body)["web"]?["counters"]?["fullPages"]?.int64 ?? -1
  }

  /// How often that was refused so far.
  func refusals(_ name: String) throws -> Int64 {
    try JSON(parsing: ask("GET", "/status.json").body)["web"]?["refusals"]?[name]?.int64 ?? -1
  }
}

/// Looks until `condition` holds, at most 20 s.
func eventually(_ condition: () throws -> Bool) -> Bool {
  let end = Date(timeIntervalSinceNow: 20)
  while Date() < end {
    if (try? condition()) == true { return true }
    usleep(5_000)
  }
  return false
}
