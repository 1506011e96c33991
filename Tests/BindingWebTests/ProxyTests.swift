import BindingProtocol
import Foundation
import NIOCore
import Testing

@testable import BindingWeb

@Suite("Pages behind a reverse proxy", .serialized)
struct ProxyTests {
  private static func site(proxies: [String], origins: [String] = ["https://panel.example"]) throws -> Site {
    let (proxies, origins) = (try proxies.map { try WebProxy($0) }, try origins.map { try WebOrigin($0) })
    return try Site {
      $0.proxies = proxies
      $0.origins = origins
    }
  }

  /// What a proxy adds that passes the request on with its own `Host`.
  private let added = [
    "X-Forwarded-For: 198.51.100.7", "X-Forwarded-Proto: https", "X-Forwarded-Host: panel.example",
  ]

  @Test("a named origin is printed, its host is the gateway's own, and its cookie is for https and that host")
  func origin() throws {
    let site = try ProxyTests.site(proxies: [])
    #expect(site.gateway.url.hasPrefix("https://panel.example/?code="))
    let reply = try site.ask("GET", "/?code=\(site.code)", [], host: "panel.example")
    #expect(reply.status == 303 && reply["location"] == "/")
    let cookie = try #require(reply["set-cookie"])
    #expect(cookie.hasSuffix("; Secure; HttpOnly; SameSite=Lax; Path=/"))
    let line = "Cookie: \(cookie.prefix { $0 != ";" })"
    #expect(try site.ask("GET", "/", [line], host: "panel.example").status == 200)
    #expect(try site.ask("GET", "/", [line]).status == 401)
    func upgrade(_ origin: String) throws -> Int {
      try site.client().upgrade([line, "Origin: \(origin)"], host: "panel.example").status
    }
    #expect(try upgrade("https://panel.example") == 101)
    #expect(try upgrade("http://panel.example") == 403)
    #expect(try upgrade("https://panel.example:8443") == 403)
    #expect(try upgrade("https://evil.example") == 403)
    #expect(try site.ask("GET", "/", host: "evil.example").status == 421)
    #expect(try site.ask("GET", "/", host: "panel.example:8443").status == 421)
    // The address on this machine still works, and its cookie is for http.
    #expect(try site.ask("GET", "/?code=\(site.code)", [])["set-cookie"]?.contains("Secure") == false)
  }

  @Test("a named proxy is believed about the host and the scheme: sessions are bound to the host that browsers see")
  func believed() throws {
    let site = try ProxyTests.site(proxies: ["127.0.0.0/8"])
    let reply = try site.ask("GET", "/?code=\(site.code)", added)
    #expect(reply.status == 303 && reply["set-cookie"]?.contains("; Secure;") == true)
    let line = "Cookie: \(try #require(reply["set-cookie"]).prefix { $0 != ";" })"
    #expect(try site.ask("GET", "/", added + [line]).status == 200)
    #expect(try site.ask("GET", "/", [line], host: "panel.example").status == 200)
    #expect(try site.ask("GET", "/", [line]).status == 401)
    let page = added + [line, "Origin: https://panel.example"]
    #expect(try site.client().upgrade(page, host: site.host).status == 101)
    let standard = ["Forwarded: for=198.51.100.7;proto=https;host=panel.example", line]
    #expect(try site.ask("GET", "/", standard).status == 200)
    let plain = ["X-Forwarded-Proto: http", "X-Forwarded-Host: panel.example", line]
    #expect(try site.ask("GET", "/", plain).status == 421)
    #expect(try site.ask("GET", "/", ["X-Forwarded-Host: evil.example", line]).status == 421)
    #expect(try site.refusals("otherScheme") == 1)
    #expect(try site.refusals("foreignHost") == 1)
    #expect(try ignored(site) == 0)
  }

  @Test("the same headers from elsewhere change nothing, and are counted")
  func liar() throws {
    let site = try ProxyTests.site(proxies: ["192.0.2.1", "fd00::/8"])
    let liar = added + ["Forwarded: for=192.0.2.1;proto=https;host=panel.example", site.cookie]
    // The cookie is for 127.0.0.1, and so is the request.
    #expect(try site.ask("GET", "/", liar).status == 200)
    #expect(try site.client().upgrade(liar + [site.origin], host: site.host).status == 101)
    #expect(try site.ask("GET", "/", added + [site.bearer], host: "evil.example").status == 421)
    let entry = try site.ask("GET", "/?code=\(site.code)", added)
    #expect(entry.status == 303 && entry["set-cookie"]?.contains("Secure") == false)
    #expect(try ignored(site) == 4)
  }

  private func ignored(_ site: Site) throws -> Int64 {
    try JSON(parsing: site.ask("GET", "/status.json").body)["web"]?["counters"]?["ignoredForwards"]?.int64 ?? -1
  }

  @Test("an address beyond loopback needs a certificate, or a named proxy with an https origin, or --insecure")
  func beyond() throws {
    func refuses(_ change: (inout WebGateway.Configuration) throws -> Void) throws -> WebError? {
      var configuration = WebGateway.Configuration()
      configuration.address = try WebAddress("0.0.0.0:0")
      try change(&configuration)
      do throws(WebError) {
        try configuration.check()
        return nil
      } catch { return error }
    }
    let (https, http) = (try WebOrigin("https://panel.example"), try WebOrigin("http://panel.example"))
    let proxy = try WebProxy("192.0.2.1")
    let refused = try #require(try refuses { _ in })
    #expect(refused == .notLoopback(address: "0.0.0.0:0"))
    for cure in ["--web-tls CERT KEY", "--web-proxy ADDRESS --web-origin https://NAME", "--insecure"] {
      #expect(refused.description.contains(cure))
    }
    #expect(try refuses { $0.origins = [https] } == refused)
    #expect(try refuses { $0.proxies = [proxy] } == refused)
    #expect(try refuses { ($0.origins, $0.proxies) = ([http], [proxy]) } == refused)
    #expect(try refuses { ($0.origins, $0.proxies) = ([https], [proxy]) } == nil)
    #expect(try refuses { $0.certificate = WebCertificate(certificatePath: "a", keyPath: "b") } == nil)
    #expect(try refuses { $0.isInsecureAllowed = true } == nil)
  }

  @Test("beyond loopback without encryption of its own, only the named proxies and this machine may connect")
  func proxiesOnly() throws {
    var configuration = WebGateway.Configuration()
    configuration.address = try WebAddress("0.0.0.0:0")
    configuration.proxies = [try WebProxy("192.0.2.0/24")]
    configuration.origins = [try WebOrigin("https://panel.example")]
    func admits(_ address: String, _ configuration: WebGateway.Configuration) throws -> Bool {
      let access = AccessControl(configuration, port: 7_880, key: nil, tls: nil)
      return access.admits(try SocketAddress(ipAddress: address, port: 1))
    }
    for address in ["192.0.2.1", "::ffff:192.0.2.200", "127.0.0.1", "::1"] {
      #expect(try admits(address, configuration), "\(address)")
    }
    for address in ["192.0.3.1", "198.51.100.7", "2001:db8::1"] {
      #expect(try !admits(address, configuration), "\(address)")
    }
    var insecure = configuration
    insecure.isInsecureAllowed = true
    #expect(try admits("198.51.100.7", insecure) && insecure.isUnprotected && !configuration.isUnprotected)
  }
}
