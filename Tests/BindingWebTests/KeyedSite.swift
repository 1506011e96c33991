import BindingHub
import BindingKeys
import BindingProtocol
import BindingWeb
import Foundation
import Logging
import Testing

/// A hub with keys in this process and its gateway, on an ephemeral port, and its folder.
final class KeyedSite {
  let folder: String
  let keys: HubKeys
  let hub: Hub
  let gateway: WebGateway
  let port: Int

  /// Guests read `public/*`; `anna` may do everything.
  private static let access = #"""
    {"bindbus": "access", "version": 1,
     "roles": {"guest": {"read": ["public/*"], "write": ["public/lamp.level"]},
       "staff": {"read": ["*"], "write": ["*"], "admin": true}},
     "members": {"anna": ["staff"]}}
    """#

  init() throws {
    folder = NSTemporaryDirectory() + "site-\(UInt32.random(in: 0 ... .max))"
    keys = HubKeys(in: folder)
    _ = try keys.create()
    try keys.createAccess(KeyedSite.access)
    let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    var configuration = Hub.Configuration()
    configuration.listen = []
    configuration.keys = folder
    configuration.heartbeat = .milliseconds(250)
    hub = try Hub(configuration: configuration, logger: quiet)
    try hub.start()
    var web = WebGateway.Configuration()
    web.address = try WebAddress("127.0.0.1:0")
    web.keys = folder
    gateway = WebGateway(hub: hub, configuration: web, logger: quiet)
    try gateway.start()
    port = try #require(gateway.address.split(separator: ":").last.flatMap { Int($0) })
  }

  deinit {
    gateway.stop()
    hub.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  var host: String { "127.0.0.1:\(port)" }
  var origin: String { "Origin: http://\(host)" }

  static var now: Int64 { Int64(Date().timeIntervalSince1970) }

  func ask(_ method: String = "GET", _ target: String, _ lines: [String] = []) throws -> RawClient.Reply {
    try RawClient(port: port).ask(method, target, lines, host: host)
  }

  func invite(_ name: String = "gus", role: String? = "guest", lifetime: Int64 = 600) throws -> (
    code: String, id: String
  ) { try keys.invitePage(name, as: role, lifetime: lifetime, at: KeyedSite.now) }

  /// The cookie line of a browser that an invitation has let in.
  func enter(_ name: String = "gus", role: String? = "guest") throws -> String {
    let code = try invite(name, role: role).code
    let reply = try ask("GET", "/?code=\(code)&enter=1", ["User-Agent: Mozilla/5.0 (Android 14) Firefox/128.0"])
    return "Cookie: " + (try #require(reply["set-cookie"], "\(reply.text)")).prefix { $0 != ";" }
  }

  func decide(_ decision: MemberRecord.Decision) throws {
    var file = try MembersFile(at: keys.membersPath)
    try file.append { _ throws(MemberError) in MemberRecord(time: KeyedSite.now, decision: decision) }
  }

  var sessions: [String: MemberPages.Session] {
    get throws { try MembersFile(at: keys.membersPath).members.pages.sessions }
  }

  /// A page that has been welcomed.
  func page(_ cookie: String) throws -> RawClient {
    try #require(eventually { try self.ask("GET", "/readyz").status == 200 })
    let page = try RawClient(port: port)
    let reply = try page.upgrade([cookie, origin], host: host)
    try #require(reply.status == 101, "\(reply.status) \(reply.text)")
    page.sendText(Site.hello)
    return page
  }
}
