import BindingHub
import NIOHTTP1
import Testing

@testable import BindingWeb

@Suite("Origins, proxies and forwarding headers")
struct ForwardingTests {
  @Test("an origin is a scheme and a host, and is written as browsers write it")
  func origins() throws {
    for (text, written) in [
      ("https://panel.example", "https://panel.example"), ("HTTPS://Panel.Example/", "https://panel.example"),
      ("https://panel.example:443", "https://panel.example"), ("http://hall.lan:8080", "http://hall.lan:8080"),
      ("http://10.0.0.2:80", "http://10.0.0.2"), ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
      ("https://[2001:db8::1]", "https://[2001:db8::1]"),
    ] { #expect(try "\(WebOrigin(text))" == written) }
    for text in [
      "", "panel.example", "ftp://panel.example", "https://", "https://panel.example/x", "https://panel.example:0",
      "https://panel.example:x", "https://a b", "https://user@panel.example", "https://[zz]", "https://a:1:2",
    ] { #expect(throws: WebError.noOrigin(text: text)) { try WebOrigin(text) } }
  }

  @Test("a proxy is an address or a range of IPv4 or IPv6")
  func proxies() throws {
    func contains(_ range: String, _ address: String) throws -> Bool {
      try WebProxy(range).contains(try #require(NumericAddress(address)))
    }
    for (range, address, isIn) in [
      ("10.0.0.2", "10.0.0.2", true), ("10.0.0.2", "10.0.0.3", false), ("10.0.0.0/24", "10.0.0.255", true),
      ("10.0.0.77/24", "10.0.0.1", true), ("10.0.0.0/24", "10.0.1.0", false), ("10.0.0.0/23", "10.0.1.0", true),
      ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false), ("fd00::/8", "fdff::1", true),
      ("fd00::/8", "fe00::1", false), ("2001:db8::1", "2001:db8::1", true), ("10.0.0.0/8", "::ffff:10.1.2.3", true),
      ("::/0", "10.0.0.1", true),
    ] { #expect(try contains(range, address) == isIn, "\(range) \(address)") }
    for text in ["", "proxy", "10.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "/8"] {
      #expect(throws: WebError.noProxy(text: text)) { try WebProxy(text) }
    }
  }

  @Test("a gateway takes 16 origins and 64 proxies, and one scheme for a host")
  func limits() throws {
    let hub = try Hub.embedded()
    func failure(origins: Int, proxies: Int) throws -> WebError? {
      var configuration = WebGateway.Configuration()
      configuration.address = try WebAddress("127.0.0.1:0")
      configuration.origins = try (0..<origins).map { try WebOrigin("https://panel-\($0).example") }
      configuration.proxies = try (0..<proxies).map { try WebProxy("10.0.0.\($0)") }
      let gateway = WebGateway(hub: hub, configuration: configuration)
      defer { gateway.stop() }
      do throws(WebError) {
        try gateway.start()
        return nil
      } catch { return error }
    }
    #expect(try failure(origins: 16, proxies: 64) == nil)
    #expect(try failure(origins: 17, proxies: 0) == .tooMany(what: "origins", limit: 16))
    #expect(try failure(origins: 0, proxies: 65) == .tooMany(what: "proxies", limit: 64))
    var configuration = WebGateway.Configuration()
    configuration.origins = [try WebOrigin("http://a.example"), try WebOrigin("https://a.example")]
    #expect(throws: WebError.twoSchemes(host: "a.example")) { try configuration.check() }
  }

  private func told(_ lines: (String, String)...) throws -> Forwarding {
    Forwarding(HTTPHeaders(lines), proxies: [try WebProxy("10.0.0.0/8"), try WebProxy("fd00::/8")])
  }

  @Test("the browser is the last address that is no proxy's; what it invented before that does not count")
  func client() throws {
    for (list, client) in [
      ("198.51.100.7", "198.51.100.7"), ("192.0.2.66, 198.51.100.7", "198.51.100.7"),
      ("192.0.2.66, 198.51.100.7, 10.0.0.3", "198.51.100.7"), ("10.0.0.9,10.0.0.3", "10.0.0.9"),
      ("198.51.100.7:4711", "198.51.100.7"), ("2001:db8::7", "2001:db8::7"), ("[2001:db8::7]:80", "2001:db8::7"),
      ("192.0.2.66, unknown", nil), ("198.51.100.7, , 10.0.0.3,", "198.51.100.7"), ("", nil), ("10.0.0.1\"x", nil),
    ] as [(String, String?)] {
      #expect(try told(("X-Forwarded-For", list)).client?.description == client, "\(list)")
    }
    let lines = try told(("X-Forwarded-For", "192.0.2.66"), ("X-Forwarded-For", "198.51.100.7"))
    #expect(lines.client?.description == "198.51.100.7")
  }

  @Test("scheme and host are those that came with the browser's address, or the last")
  func place() throws {
    let chain = try told(
      ("X-Forwarded-For", "192.0.2.66, 198.51.100.7, 10.0.0.3"), ("X-Forwarded-Proto", "ftp, HTTPS, http"),
      ("X-Forwarded-Host", "evil.example, panel.example, inner"))
    #expect(chain.scheme == "https" && chain.host == "panel.example")
    let last = try told(("X-Forwarded-For", "192.0.2.66, 198.51.100.7"), ("X-Forwarded-Proto", "https"))
    #expect(last.scheme == "https" && last.host == nil)
  }

  @Test("`Forwarded` counts by the same rule, and only where no proxy wrote the other headers")
  func standard() throws {
    let list =
      "for=192.0.2.66;host=evil.example, For=\"[2001:db8::7]:4711\";proto=HTTPS;host=\"panel.example\", "
      + "for=10.0.0.3"
    let told = try told(("Forwarded", list))
    #expect(told.client?.description == "2001:db8::7" && told.scheme == "https" && told.host == "panel.example")
    let both = try self.told(("Forwarded", "for=192.0.2.66;host=evil.example"), ("X-Forwarded-For", "198.51.100.7"))
    #expect(both.client?.description == "198.51.100.7" && both.host == nil)
    let hidden = try self.told(("Forwarded", "for=\"_a,b;c\";proto=http"))
    #expect(hidden.client == nil && hidden.scheme == "http")
  }

  @Test("a certificate's problem is told two weeks before its end, or in the last quarter of a short term")
  func term() {
    let day: Int64 = 86_400
    let term = CertificateTerm(from: 1_700_000_000, until: 1_700_000_000 + 90 * day)
    #expect(term.problem(at: term.from - 1)?.contains("clock") == true)
    #expect(term.problem(at: term.from) == nil)
    #expect(term.problem(at: term.until - 14 * day) == nil)
    #expect(term.problem(at: term.until - 14 * day + 1)?.contains("expires on 2024-02-12T22:13:20Z") == true)
    #expect(term.problem(at: term.until)?.contains("expired on") == true)
    let short = CertificateTerm(from: 0, until: 6 * day)
    #expect(short.problem(at: 4 * day) == nil)
    #expect(short.problem(at: 5 * day) != nil)
  }
}
