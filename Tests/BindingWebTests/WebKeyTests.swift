import BindingHub
import Foundation
import Testing

@testable import BindingWeb

@Suite("Keys, codes and sessions")
struct WebKeyTests {
  private let key = WebKey(token: "0123456789abcdef0123456789abcdef", run: "0011223344556677")
  private let now: Int64 = 1_800_000_000

  @Test("a code is valid for five minutes, in one run of one gateway")
  func code() {
    let code = key.code(now: now)
    #expect(code.count == WebKey.codeDigits && code.allSatisfy(\.isHexDigit))
    #expect(key.code(now: now) != code)
    #expect(key.end(ofCode: code, now: now) == now + 300)
    #expect(key.end(ofCode: code, now: now + 300) != nil)
    #expect(key.end(ofCode: code, now: now + 301) == nil)
    #expect(key.end(ofCode: code, now: now - 301) == nil)
    #expect(WebKey(token: key.token).end(ofCode: code, now: now) == nil)
    #expect(WebKey(run: key.run).end(ofCode: code, now: now) == nil)
    for index in code.indices {
      var other = code
      other.replaceSubrange(index...index, with: code[index] == "0" ? "1" : "0")
      #expect(key.end(ofCode: other, now: now) == nil)
    }
  }

  @Test("a code can be used once and is forgotten when it has expired")
  func used() {
    var codes = UsedCodes()
    func isFirst(_ code: String, until end: Int64, now: Int64) -> Bool { codes.use(code, until: end, now: now) }
    #expect(isFirst("a", until: now + 300, now: now))
    #expect(!isFirst("a", until: now + 300, now: now))
    for number in 0..<1_000 { #expect(isFirst("\(number)", until: now, now: now + 1)) }
    #expect(!isFirst("a", until: now + 300, now: now + 1))
    #expect(codes.count <= 256)
  }

  @Test("a session survives a restart, expires after thirty days and is valid for one host")
  func session() {
    let session = key.session(host: "127.0.0.1:7880", now: now)
    let next = WebKey(token: key.token)
    #expect(next.end(ofSession: session, host: "127.0.0.1:7880", now: now + 2_591_999) == now + 2_592_000)
    #expect(next.end(ofSession: session, host: "127.0.0.1:7880", now: now + 2_592_000) == nil)
    #expect(next.end(ofSession: session, host: "127.0.0.1:7881", now: now) == nil)
    #expect(next.end(ofSession: session, host: "localhost:7880", now: now) == nil)
    #expect(WebKey().end(ofSession: session, host: "127.0.0.1:7880", now: now) == nil)
    let later = session.replacing("-", with: "0-")
    #expect(next.end(ofSession: later, host: "127.0.0.1:7880", now: now) == nil)
    for wrong in ["", "-", "zz-", "ffffffff", "-\(session)"] {
      #expect(next.end(ofSession: wrong, host: "127.0.0.1:7880", now: now) == nil)
    }
  }

  @Test("proofs are HMACs of RFC 2104 with SHA-256")
  func proof() {
    // hmac.new(token, b"bindbus session 1\0h:1\0" + b"6b4a5a00", sha256), by Python.
    #expect(
      key.session(host: "h:1", now: 0x6b4a_5a00 - WebKey.sessionSeconds) == "6b4a5a00-6df079b13bdcddc73b076c30df2a887e")
  }
}

@Suite("The key file", .serialized)
struct WebEntryTests {
  private let path = FileManager.default.temporaryDirectory.path + "/entry-\(UInt32.random(in: 0 ... .max))"

  private func mode() throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  @Test("token and sessions survive a restart of the gateway, codes do not")
  func restart() throws {
    defer { unlink(path) }
    let (token, session, code): (String?, String, String)
    let port: Int
    do {
      let site = try Site { $0.keyPath = path }
      (token, session, code, port) = (site.gateway.token, try site.session(), site.code, site.port)
      #expect(try mode() == 0o600)
      let entry = try #require(try WebEntry.read(path))
      #expect(entry.token == token && entry.address == site.host && entry.isServed())
      let reply = try site.ask("GET", String(entry.url().dropFirst("http://\(site.host)".count)), [])
      #expect(reply.status == 303)
    }
    let site = try Site {
      $0.keyPath = path
      $0.address = (try? WebAddress("127.0.0.1:\(port)")) ?? .standard
    }
    #expect(site.gateway.token == token)
    #expect(try site.ask("GET", "/", ["Cookie: \(session)"]).status == 200)
    #expect(try site.ask("GET", "/?code=\(code)", []).status == 401)
  }

  @Test("a gateway accepts its own name below localhost, with a separate session, and no other such name")
  func ownName() throws {
    defer { unlink(path) }
    let site = try Site { $0.keyPath = path }
    let entry = try #require(try WebEntry.read(path))
    let url = try #require(entry.ownNameURL())
    let host = try #require(url.dropFirst("http://".count).split(separator: "/").first.map(String.init))
    #expect(host.hasPrefix("bindbus-") && host.hasSuffix(".localhost:\(site.port)") && host != site.host)
    let target = String(url.dropFirst("http://\(host)".count))
    let reply = try site.ask("GET", target, [], host: host)
    #expect(reply.status == 303)
    let cookie = "Cookie: \(reply["set-cookie"]?.prefix { $0 != ";" } ?? "")"
    #expect(try site.ask("GET", "/", [cookie], host: host).status == 200)
    #expect(try site.ask("GET", "/", [cookie]).status == 401)
    #expect(try site.ask("GET", "/", [cookie], host: "bindbus-0.localhost:\(site.port)").status == 421)
    #expect(try site.client().upgrade([cookie, "Origin: http://\(host)"], host: host).status == 101)
  }

  @Test("a session past half of its term is renewed by pages and sockets")
  func renewed() throws {
    defer { unlink(path) }
    let site = try Site { $0.keyPath = path }
    let entry = try #require(try WebEntry.read(path))
    let old = entry.key.session(host: site.host, now: WebEntry.now - WebKey.sessionSeconds / 2 - 60)
    let line = "Cookie: bindbus-session-\(site.port)=\(old)"
    #expect(try site.ask("GET", "/", [line])["set-cookie"]?.contains(old) == false)
    let upgraded = try site.client().upgrade([line, site.origin], host: site.host)
    #expect(upgraded.status == 101 && upgraded["set-cookie"] != nil)
    #expect(try site.ask("GET", "/", [site.cookie])["set-cookie"] == nil)
  }

  @Test("a key file that is readable by others or malformed is refused with a remedy")
  func refused() throws {
    defer { unlink(path) }
    do { _ = try Site { $0.keyPath = path } }
    chmod(path, 0o644)
    #expect { try Site { $0.keyPath = path } } throws: { "\($0)".contains("chmod 600 \(path)") }
    #expect(throws: WebError.self) { try WebEntry.read(path) }
    chmod(path, 0o600)
    try Data("{}".utf8).write(to: URL(fileURLWithPath: path))
    chmod(path, 0o600)
    #expect { try Site { $0.keyPath = path } } throws: { "\($0)".contains("remove it") }
    unlink(path)
    #expect(try WebEntry.read(path) == nil)
  }

  @Test("without a required token the address has no code, and the token is kept for later")
  func open() throws {
    defer { unlink(path) }
    let token: String?
    do { token = try Site { $0.keyPath = path }.gateway.token }
    do {
      let site = try Site {
        $0.keyPath = path
        $0.isTokenAsked = false
      }
      let entry = try #require(try WebEntry.read(path))
      #expect(entry.url() == "http://\(site.host)/" && entry.token == nil && entry.ownNameURL() == nil)
    }
    #expect(try Site { $0.keyPath = path }.gateway.token == token)
  }
}
