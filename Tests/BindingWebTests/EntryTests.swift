import BindingHub
import BindingWeb
import Testing

@Suite("Access to the gateway", .serialized)
struct EntryTests {
  private let site: Site

  init() throws { site = try Site() }

  @Test("the printed address works once: it sets a session cookie and redirects to the page without the code")
  func cookie() throws {
    let (token, url) = (try #require(site.gateway.token), site.gateway.url)
    #expect(token.count == 32 && token.allSatisfy { $0.isHexDigit })
    #expect(url.hasPrefix("http://\(site.host)/?code=") && !url.contains(token))
    let target = String(url.dropFirst("http://\(site.host)".count))
    let reply = try site.ask("GET", target, [])
    #expect(reply.status == 303)
    #expect(reply["location"] == "/")
    let cookie = try #require(reply["set-cookie"])
    #expect(cookie.hasPrefix("bindbus-session-\(site.port)=") && !cookie.contains(token))
    #expect(cookie.hasSuffix("; Max-Age=2592000; HttpOnly; SameSite=Lax; Path=/"))
    #expect(reply["cache-control"] == "no-store")
    let line = "Cookie: \(cookie.prefix { $0 != ";" })"
    #expect(try site.ask("GET", "/", [line]).status == 200)
    #expect(try site.ask("GET", "/", [line])["set-cookie"] == nil)
    #expect(try site.ask("GET", target, []).status == 401)
    #expect(site.gateway.url != url)
  }

  @Test("a session is not a token and is valid for one host and port only")
  func bound() throws {
    let session = try site.session()
    let value = session.drop { $0 != "=" }.dropFirst()
    #expect(try site.ask("GET", "/", ["Cookie: \(session)"]).status == 200)
    #expect(try site.ask("GET", "/", ["Authorization: Bearer \(value)"]).status == 401)
    #expect(try site.ask("GET", "/?token=\(value)", []).status == 401)
    #expect(try site.client().upgrade(["Authorization: Bearer \(value)"], host: site.host).status == 401)
    #expect(try site.ask("GET", "/", ["Cookie: \(session)"], host: "localhost:\(site.port)").status == 401)
    let named = try site.session(host: "localhost:\(site.port)")
    #expect(try site.ask("GET", "/", ["Cookie: \(named)"], host: "localhost:\(site.port)").status == 200)
    #expect(try site.ask("GET", "/", ["Cookie: \(named)"]).status == 401)
  }

  @Test("code and token are removed from any page's address, and other query items remain")
  func otherPages() throws {
    let token = try #require(site.gateway.token)
    #expect(try site.ask("GET", "/form/a/b?x=1&code=\(site.code)&y", [])["location"] == "/form/a/b?x=1&y")
    #expect(try site.ask("GET", "/form/a/b?x=1&token=\(token)&y", [])["location"] == "/form/a/b?x=1&y")
    #expect(try site.ask("GET", "/demo?code=http%3A%2F%2Fhost%2F%3Fcode%3D\(site.code)", [])["location"] == "/demo")
    #expect(try site.ask("GET", "//elsewhere.example/?code=\(site.code)", []).status == 400)
  }

  @Test("a request without a valid token, code or session gets 401, and /healthz still answers")
  func noToken() throws {
    for target in ["/", "/bind.js", "/form/lamp", "/demo", "/status.json", "/metrics", "/bind", "/nothing", "/pages/x"]
    {
      let reply = try site.ask("GET", target, [])
      #expect(reply.status == 401, "\(target)")
      #expect(reply.text.contains("bindhub web"))
      #expect(reply["www-authenticate"] == "Bearer realm=\"bindbus\"")
    }
    let wrong = String(repeating: "0", count: 32)
    #expect(try site.ask("GET", "/?token=\(wrong)", []).status == 401)
    #expect(try site.ask("GET", "/?token=", [site.cookie]).status == 401)
    #expect(try site.ask("GET", "/?code=\(wrong)", []).status == 401)
    #expect(try site.ask("GET", "/?code=", []).status == 401)
    #expect(try site.ask("GET", "/", ["Cookie: bindbus-session-\(site.port)=\(wrong)"]).status == 401)
    #expect(
      try site.ask("GET", "/", ["Cookie: bindbus-session-\(site.port)=\(site.gateway.token ?? "")"]).status == 401)
    #expect(try site.ask("GET", "/", ["Authorization: Bearer \(wrong)"]).status == 401)
    #expect(try site.ask("GET", "/", ["Authorization: Bearer"]).status == 401)
    #expect(try site.ask("GET", "/healthz", []).status == 200)
    #expect(try site.refusals("noToken") == 17)
  }

  @Test("an unknown browser gets a page of instructions, which accepts a code")
  func page() throws {
    let reply = try site.ask("GET", "/form/lamp", ["Accept: text/html,application/xhtml+xml"])
    #expect(reply.status == 401)
    #expect(reply["content-type"] == "text/html; charset=utf-8")
    #expect(reply.text.contains("bindhub web") && reply.text.contains("name=\"code\""))
    #expect(reply["content-security-policy"]?.contains("form-action 'self'") == true)
    #expect(try site.ask("GET", "/")["content-security-policy"]?.contains("form-action 'none'") == true)
    for file in ["/page.css", "/icon.svg"] { #expect(try site.ask("GET", file, []).status == 200) }
  }

  @Test("without a key file each gateway makes its own token")
  func otherToken() throws {
    let other = try Site()
    #expect(other.gateway.token != site.gateway.token)
    #expect(try other.ask("GET", "/", [site.bearer]).status == 401)
  }

  @Test("a foreign host name that resolves to the gateway is refused")
  func host() throws {
    for host in [
      "evil.example:\(site.port)", "127.0.0.1", "127.0.0.1:\(site.port + 1)", "127.0.0.1.evil.example:\(site.port)", "",
    ] {
      for target in ["/", "/healthz", "/?code=\(site.code)"] {
        #expect(try site.ask("GET", target, host: host).status == 421, "\(host)")
      }
    }
    for host in ["localhost:\(site.port)", "LOCALHOST:\(site.port)", "[::1]:\(site.port)"] {
      #expect(try site.ask("GET", "/", host: host).status == 200, "\(host)")
    }
    #expect(try site.refusals("foreignHost") == 15)
  }

  @Test("a request must name exactly one host")
  func hosts() throws {
    let none = try site.client()
    none.send("GET / HTTP/1.1\r\n\(site.bearer)\r\n\r\n")
    #expect(try none.reply().status == 400)
    #expect(try site.ask("GET", "/", [site.bearer, "Host: \(site.host)"]).status == 400)
  }

  @Test("only the gateway's own pages and clients with the token open its WebSocket")
  func origin() throws {
    func status(_ lines: [String]) throws -> Int { try site.client().upgrade(lines, host: site.host).status }
    #expect(try status([site.cookie, site.origin]) == 101)
    #expect(try status([site.cookie, "Origin: http://localhost:\(site.port)"]) == 101)
    #expect(try status([site.bearer]) == 101)
    #expect(try status([site.cookie]) == 403)
    #expect(try status([site.cookie, "Origin: http://evil.example"]) == 403)
    #expect(try status([site.bearer, "Origin: http://evil.example"]) == 403)
    #expect(try status([site.cookie, "Origin: https://\(site.host)"]) == 403)
    #expect(try status([site.cookie, "Origin: null"]) == 403)
    #expect(try status([site.cookie, site.origin, "Origin: http://evil.example"]) == 403)
    #expect(try status([site.origin]) == 401)
    #expect(try site.client().upgrade([site.bearer], host: "evil.example:\(site.port)").status == 421)
    #expect(try site.refusals("foreignOrigin") == 6)
  }

  @Test("a handshake with a wrong version, key or path is refused with the requirements")
  func handshake() throws {
    let lines = [site.bearer, "Connection: Upgrade", "Upgrade: websocket"]
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    for wrong in [
      ["Sec-WebSocket-Version: 8", key], ["Sec-WebSocket-Version: 13"], [key],
      ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: short"],
    ] {
      let reply = try site.ask("GET", "/bind", lines + wrong)
      #expect(reply.status == 426)
      #expect(reply["sec-websocket-version"] == "13")
      #expect(reply["upgrade"] == "websocket")
    }
    #expect(try site.ask("GET", "/bind").status == 426)
    #expect(try site.client().upgrade([site.bearer], target: "/demo", host: site.host).status == 200)
  }

  @Test("hosts and origins are checked even where no token is required")
  func open() throws {
    let site = try Site { $0.isTokenAsked = false }
    #expect(site.gateway.url == "http://\(site.host)/")
    #expect(try site.ask("GET", "/", []).status == 200)
    #expect(try site.ask("GET", "/", [], host: "evil.example:\(site.port)").status == 421)
    #expect(try site.client().upgrade(["Origin: http://evil.example"], host: site.host).status == 403)
    #expect(try site.client().upgrade([site.origin], host: site.host).status == 101)
  }

  @Test("an address beyond loopback is refused unless it is explicitly allowed")
  func beyond() throws {
    let hub = try Hub.embedded()
    for text in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "example.org:0", "127.evil.example:0"] {
      var configuration = WebGateway.Configuration()
      configuration.address = try WebAddress(text)
      #expect(throws: WebError.notLoopback(address: text)) {
        try WebGateway(hub: hub, configuration: configuration).start()
      }
    }
    for text in ["", "here", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:80", "[zz]:80", "a/b:80", ":80"] {
      #expect(throws: WebError.noAddress(text: text)) { try WebAddress(text) }
    }
  }

  @Test("a gateway on all interfaces accepts its addresses and refuses foreign host names")
  func everywhere() throws {
    let site = try Site {
      $0.address = (try? WebAddress("0.0.0.0:0")) ?? .standard
      $0.isInsecureAllowed = true
    }
    #expect(try site.ask("GET", "/").status == 200)
    #expect(try site.ask("GET", "/", host: "evil.example:\(site.port)").status == 421)
  }
}
