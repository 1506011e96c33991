import BindingWeb
import Foundation
import Testing

@Suite("HTTP requests", .serialized)
struct RequestTests {
  private let site: Site

  init() throws { site = try Site() }

  @Test("pages are served with their type and may load nothing from elsewhere")
  func pages() throws {
    let types = [
      "/": "text/html; charset=utf-8", "/demo": "text/html; charset=utf-8",
      "/form/shop/kiosk-3": "text/html; charset=utf-8",
      "/table": "text/html; charset=utf-8", "/table/": "text/html; charset=utf-8",
      "/table/shop/west": "text/html; charset=utf-8", "/table/shop/": "text/html; charset=utf-8",
      "/bind.js": "text/javascript; charset=utf-8", "/page.css": "text/css; charset=utf-8",
      "/icon.svg": "image/svg+xml",
      "/favicon.ico": "image/svg+xml",
    ]
    for (target, type) in types {
      let reply = try site.ask("GET", target)
      #expect(reply.status == 200, "\(target)")
      #expect(reply["content-type"] == type)
      #expect(!reply.body.isEmpty)
      let rules = try #require(reply["content-security-policy"])
      #expect(rules.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"))
      #expect(!rules.contains("unsafe"))
      #expect(reply["x-content-type-options"] == "nosniff")
      #expect(reply["referrer-policy"] == "no-referrer")
      #expect(reply["cross-origin-opener-policy"] == "same-origin")
      #expect(reply["cross-origin-resource-policy"] == "same-origin")
      #expect(reply["cache-control"] == "no-cache")
    }
  }

  @Test("every file of the pages folder is embedded unchanged in the program")
  func everyFile() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let folder = root.appendingPathComponent("Sources/BindingWeb/Pages/pages")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count > 8)
    for name in names {
      let pages = ["dashboard.html": "/", "demo.html": "/demo", "form.html": "/form/x", "table.html": "/table"]
      let target = pages[name] ?? "/\(name)"
      let file = try Data(contentsOf: folder.appendingPathComponent(name))
      #expect(try site.ask("GET", target).body == [UInt8](file), "\(name)")
    }
  }

  @Test("a file that the browser has is not sent again")
  func sameFile() throws {
    let tag = try #require(try site.ask("GET", "/bind.js")["etag"])
    let again = try site.ask("GET", "/bind.js", [site.bearer, "If-None-Match: \"x\", \(tag)"])
    #expect(again.status == 304)
    #expect(again["etag"] == tag)
    #expect(again["content-length"] == nil)
    #expect(try site.ask("GET", "/bind.js", [site.bearer, "If-None-Match: \"x\""]).status == 200)
  }

  @Test("a page file is sent as gzip to clients that accept it, with its own entity tag")
  func packed() throws {
    let plain = try site.ask("GET", "/bind.js")
    #expect(plain["content-encoding"] == nil && plain["vary"] == "Accept-Encoding")
    for words in ["gzip", "deflate, gzip;q=1.0, br", "GZIP ; q=0.5"] {
      let packed = try site.ask("GET", "/bind.js", [site.bearer, "Accept-Encoding: \(words)"])
      #expect(packed["content-encoding"] == "gzip" && packed["vary"] == "Accept-Encoding", "\(words)")
      #expect(packed["content-type"] == plain["content-type"])
      #expect(packed.body.starts(with: [0x1F, 0x8B, 8]) && packed.body.count * 3 < plain.body.count)
      let length = packed.body.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      #expect(length == plain.body.count)
      let tag = try #require(packed["etag"])
      #expect(tag != plain["etag"])
      let again = try site.ask("GET", "/bind.js", [site.bearer, "Accept-Encoding: gzip", "If-None-Match: \(tag)"])
      #expect(again.status == 304 && again["etag"] == tag && again["content-encoding"] == nil)
    }
    for words in ["br", "gzip;q=0", "identity"] {
      #expect(try site.ask("GET", "/bind.js", [site.bearer, "Accept-Encoding: \(words)"]).body == plain.body)
    }
  }

  @Test("HEAD has the same header and no body")
  func head() throws {
    let client = try site.client()
    let reply = try client.ask("HEAD", "/bind.js", [site.bearer], host: site.host)
    let whole = try client.ask("GET", "/bind.js", [site.bearer], host: site.host)
    #expect(reply.status == 200 && whole.status == 200)
    #expect(reply["content-length"] == String(whole.body.count))
    #expect(reply["etag"] == whole["etag"])
  }

  @Test("pipelined requests are answered in order")
  func together() throws {
    let client = try site.client()
    let request = { (target: String) in "GET \(target) HTTP/1.1\r\nHost: \(site.host)\r\n\(site.bearer)\r\n\r\n" }
    client.send(request("/status.json") + request("/healthz") + request("/nothing"))
    #expect(try client.reply()["content-type"] == "application/json")
    #expect(try client.reply().text == "ok\n")
    #expect(try client.reply().status == 404)
  }

  @Test("a missing path is answered with where to look")
  func nothing() throws {
    for target in [
      "/nothing", "/form/", "/form//x", "/form", "/demo/x", "/dashboard.html", "/pages/x.html", "/bind.js/",
      "/table//", "/table//x", "/table.html", "/tables",
    ] {
      #expect(try site.ask("GET", target).status == 404, "\(target)")
    }
    #expect(try site.ask("GET", "/nothing").text.contains("The dashboard is at /"))
    #expect(try site.ask("GET", "/pages/x.html").text.contains("--pages"))
    #expect(try site.refusals("notFound") == 14)
  }

  @Test("a browser gets a page for a missing path, without any text of its request")
  func nothingPage() throws {
    for target in ["/no<b>thing", "/pages/x.html"] {
      let reply = try site.ask("GET", target, [site.bearer, "Accept: text/html,*/*"])
      #expect(reply.status == 404)
      #expect(reply["content-type"] == "text/html; charset=utf-8")
      #expect(reply.text.contains("There is nothing here") && reply.text.contains("href=\"/\""))
      #expect(!reply.text.contains("<b>"))
    }
  }

  @Test("a malformed path is refused")
  func paths() throws {
    for target in ["http://\(site.host)/", "/%", "/%zz", "/%ff", "/%00", "/%0d%0a", "/a%5cb", "//x", "*"] {
      #expect(try site.ask("GET", target).status == 400, "\(target)")
    }
  }

  @Test("methods other than GET and HEAD, and request bodies, are refused")
  func methods() throws {
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
      let reply = try site.ask(method, "/")
      #expect(reply.status == 405)
      #expect(reply["allow"] == "GET, HEAD")
    }
    let long = try site.client()
    #expect(try long.ask("POST", "/", [site.bearer, "Content-Length: 1000000000"], host: site.host).status == 413)
    #expect(long.ends())
    #expect(try site.ask("GET", "/", [site.bearer, "Transfer-Encoding: chunked"]).status == 413)
  }

  @Test(
    "a request that is not HTTP/1 is refused",
    arguments: [
      "\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
    ])
  func noHTTP(_ text: String) throws {
    let client = try site.client()
    client.send(text)
    #expect(try client.reply().status == 400)
    #expect(client.ends())
  }

  @Test("a header of 100 KB is refused, in one line or in many, and so is a long address")
  func longHeader() throws {
    let line = "X-Long: " + String(repeating: "a", count: 102_400)
    let lines = (0..<1_000).map { "X-\($0): " + String(repeating: "b", count: 90) }
    let short = (0..<101).map { "X-\($0): b" }
    for more in [[line], lines, short] {
      let client = try site.client()
      let reply = try client.ask("GET", "/", [site.bearer] + more, host: site.host)
      #expect(reply.status == 431)
      #expect(reply.text.contains("16384 bytes"))
      #expect(client.ends())
    }
    #expect(try site.ask("GET", "/" + String(repeating: "x", count: 20_000)).status == 431)
    #expect(try site.refusals("headerTooLong") == 4)
    #expect(try site.ask("GET", "/", [site.bearer] + (0..<90).map { "X-\($0): b" }).status == 200)
  }

  @Test("a client of HTTP/1.0, or one that closes its sending side, gets its answer and the end")
  func closing() throws {
    let old = try site.client()
    old.send("GET /healthz HTTP/1.0\r\nHost: \(site.host)\r\n\r\n")
    #expect(try old.reply().text == "ok\n")
    #expect(old.ends())
    let half = try site.client()
    half.send("GET /status.json HTTP/1.1\r\nHost: \(site.host)\r\n\(site.bearer)\r\n\r\n")
    half.finishSending()
    #expect(try half.reply().status == 200)
    #expect(half.ends())
  }
}

@Suite("Idle connections", .serialized)
struct IdleTests {
  @Test("a silent, slow or idle connection is closed and counted")
  func slow() throws {
    let site = try Site {
      $0.limits.requestTimeout = .seconds(1)
      $0.limits.idleTimeout = .seconds(1)
    }
    let silent = try site.client()
    let slow = try site.client()
    slow.send("GET / HTTP/1.1\r\nHost:")
    let idle = try site.client()
    #expect(try idle.ask("GET", "/healthz", host: site.host).status == 200)
    #expect(silent.ends())
    #expect(slow.ends())
    #expect(idle.ends())
    #expect(try site.refusals("slowRequest") == 2)
  }

  @Test("two hundred idle connections delay no other client")
  func many() throws {
    let site = try Site()
    let idle = try (0..<200).map { _ in try site.client() }
    for client in idle.prefix(100) { client.send("GET / HTTP/1.1\r\n") }
    #expect(try site.ask("GET", "/healthz").status == 200)
    let page = try site.welcomedPage()
    page.sendText(#"{"kind":"ping","token":7}"#)
    #expect(try page.frame { $0.text.contains("pong") }.text.contains("7"))
    withExtendedLifetime(idle) {}
  }

  @Test("unauthenticated connections block neither each other nor clients, and the oldest are closed")
  func strangers() throws {
    let site = try Site {
      $0.limits.strangers = 4
      $0.limits.connections = 12
    }
    let page = try site.welcomedPage()
    let known = try site.client()
    #expect(try known.ask("GET", "/", [site.bearer], host: site.host).status == 200)
    var silent: [RawClient] = []
    for number in 0..<40 {
      silent.append(try site.client())
      silent[number].send("GET / HTTP/1.1\r\nHost:")
      #expect(try site.ask("GET", "/").status == 200, "\(number)")
    }
    #expect(silent[0].ends())
    #expect(try known.ask("GET", "/", [site.bearer], host: site.host).status == 200)
    page.sendText(#"{"kind":"ping","token":7}"#)
    #expect(try page.frame { $0.text.contains("pong") }.text.contains("7"))
    #expect(try site.refusals("tooManyConnections") == 0)
    #expect(try site.refusals("tooManyStrangers") >= 36)
  }

  @Test("a connection past the limit is refused, and a closed one makes room")
  func limit() throws {
    let site = try Site { $0.limits.connections = 3 }
    var first: [RawClient] = []
    for _ in 0..<3 {
      first.append(try site.client())
      #expect(try first[first.count - 1].ask("GET", "/healthz", host: site.host).status == 200)
    }
    let late = try site.client()
    #expect(try late.reply().status == 503)
    #expect(late.ends())
    first.removeAll()
    #expect(eventually { try site.ask("GET", "/healthz").status == 200 })
    #expect(eventually { try site.refusals("tooManyConnections") >= 1 })
  }
}
