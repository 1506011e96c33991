import BindingHub
import BindingWeb
import Testing

@Suite("Who may come in", .serialized)
struct EntryTests {
  private let site: Site

  init() throws { site = try Site() }

  @Test("the printed address leads to a cookie and to the page without the token")
  func cookie() throws {
    let token = try #require(site.gateway.token)
    #expect(token.count == 32 && token.allSatisfy { $0.isHexDigit })
    #expect(site.gateway.url == "http://\(site.host)/?token=\(token)")
    let reply = try site.ask("GET", "/?token=\(token)", [])
    #expect(reply.status == 303)
    #expect(reply["location"] == "/")
    #expect(reply["set-cookie"] == "bindbus-\(site.port)=\(token); HttpOnly; SameSite=Strict; Path=/")
    #expect(reply["cache-control"] == "no-store")
    #expect(try site.ask("GET", "/", [site.cookie]).status == 200)
  }

  @Test("the token is taken out of any page's address, and what else was asked for stays")
  func otherPages() throws {
    let token = try #require(site.gateway.token)
    #expect(try site.ask("GET", "/form/a/b?x=1&token=\(token)&y", [])["location"] == "/form/a/b?x=1&y")
    #expect(try site.ask("GET", "//elsewhere.example/?token=\(token)", []).status == 400)
  }

  @Test("without the token, or with another one, nothing is told but whether all is well")
  func noToken() throws {
    for target in ["/", "/bind.js", "/form/lamp", "/demo", "/status.json", "/metrics", "/bind", "/nothing", "/pages/x"]
    {
      let reply = try site.ask("GET", target, [])
      #expect(reply.status == 401, "\(target)")
      #expect(reply.text.contains("bindhub serve --web"))
      #expect(reply["www-authenticate"] == "Bearer realm=\"bindbus\"")
    }
    let wrong = String(repeating: "0", count: 32)
    #expect(try site.ask("GET", "/?token=\(wrong)", []).status == 401)
    #expect(try site.ask("GET", "/?token=", [site.cookie]).status == 401)
    #expect(try site.ask("GET", "/", ["Cookie: bindbus-\(site.port)=\(wrong)"]).status == 401)
    #expect(try site.ask("GET", "/", ["Cookie: bindbus-1=\(site.gateway.token ?? "")"]).status == 401)
    #expect(try site.ask("GET", "/", ["Authorization: Bearer \(wrong)"]).status == 401)
    #expect(try site.ask("GET", "/", ["Authorization: Bearer"]).status == 401)
    #expect(try site.ask("GET", "/healthz", []).status == 200)
    #expect(try site.refusals("noToken") == 15)
  }

  @Test("every gateway makes a token of its own")
  func otherToken() throws {
    let other = try Site()
    #expect(other.gateway.token != site.gateway.token)
    #expect(try other.ask("GET", "/", [site.bearer]).status == 401)
  }

  @Test("a name that somebody else lets point here is refused")
  func host() throws {
    for host in [
      "evil.example:\(site.port)", "127.0.0.1", "127.0.0.1:\(site.port + 1)", "127.0.0.1.evil.example:\(site.port)", "",
    ] {
      for target in ["/", "/healthz", "/?token=\(site.gateway.token ?? "")"] {
        #expect(try site.ask("GET", target, host: host).status == 421, "\(host)")
      }
    }
    for host in ["localhost:\(site.port)", "LOCALHOST:\(site.port)", "[::1]:\(site.port)"] {
      #expect(try site.ask("GET", "/", host: host).status == 200, "\(host)")
    }
    #expect(try site.refusals("foreignHost") == 15)
  }

  @Test("a request names one host")
  func hosts() throws {
    let none = try site.client()
    none.send("GET / HTTP/1.1\r\n\(site.bearer)\r\n\r\n")
    #expect(try none.reply().status == 400)
    #expect(try site.ask("GET", "/", [site.bearer, "Host: \(site.host)"]).status == 400)
  }

  @Test("only pages of the gateway open its WebSocket, and programs that show the token")
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

  @Test("a handshake of another version, without a key or elsewhere is refused with what is asked for")
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

  @Test("where no token is asked, hosts and origins still are")
  func open() throws {
    let site = try Site { $0.isTokenAsked = false }
    #expect(site.gateway.url == "http://\(site.host)/")
    #expect(try site.ask("GET", "/", []).status == 200)
    #expect(try site.ask("GET", "/", [], host: "evil.example:\(site.port)").status == 421)
    #expect(try site.client().upgrade(["Origin: http://evil.example"], host: site.host).status == 403)
    #expect(try site.client().upgrade([site.origin], host: site.host).status == 101)
  }

  @Test("an address beyond this machine is refused, unless that is wanted")
  func beyond() throws {
    let hub = try Hub.embedded()
    for text in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "example.org:0", "127.evil.example:0"] {
      var options = WebOptions()
      options.address = try WebAddress(text)
      #expect(throws: WebFailure.notLoopback(address: text)) { try WebGateway(hub: hub, options: options).start() }
    }
    for text in ["", "here", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:80", "[zz]:80", "a/b:80", ":80"] {
      #expect(throws: WebFailure.noAddress(text: text)) { try WebAddress(text) }
    }
  }

  @Test("a gateway that listens everywhere is reached by each of its numbers, and by no other name")
  func everywhere() throws {
    let site = try Site {
      $0.address = (try? WebAddress("0.0.0.0:0")) ?? .standard
      $0.isInsecureAllowed = true
    }
    #expect(try site.ask("GET", "/").status == 200)
    #expect(try site.ask("GET", "/", host: "evil.example:\(site.port)").status == 421)
  }
}
