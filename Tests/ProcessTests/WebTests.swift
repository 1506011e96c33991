import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Pages served by bindhub", .serialized)
struct WebTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func serve(_ arguments: String...) throws -> RunningProcess {
    try RunningProcess(
      Bench.program("bindhub"),
      ["serve", "--listen", bench.hub, "--exit-with-stdin", "--log", "error", "--store", "memory"] + arguments)
  }

  /// The web address that a hub printed after its endpoints.
  private func url(_ hub: RunningProcess) throws -> URL {
    let line = try #require(hub.line { $0.hasPrefix("web http://127.0.0.1:") }, "\(hub.output)")
    #expect(hub.output.first?.hasPrefix("listening ") == true)
    return try #require(URL(string: String(line.dropFirst(4))))
  }

  /// Returns the answer to a program's request for this path.
  private func get(_ url: URL, _ path: String) throws -> (status: String, text: String) {
    let port = try #require(url.port)
    let entry = try RunningProcess(Bench.program("bindhub"), ["web", "--json"], hub: bench.hub)
    #expect(entry.end() == 0, "\(entry.output)")
    let fields = try JSONSerialization.jsonObject(with: Data((entry.output.first ?? "").utf8)) as? [String: Any]
    let token = fields?["token"] as? String ?? ""
    let answer = try WebTests.exchange(
      "GET \(path) HTTP/1.0\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(token)\r\n\r\n", port: port)
    let halves = answer.components(separatedBy: "\r\n\r\n")
    return (String(answer.split(separator: " ")[1]), halves.dropFirst().joined(separator: "\r\n\r\n"))
  }

  /// Sends a request and reads until the other side closes.
  private static func exchange(_ request: String, port: Int) throws -> String {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(connected == 0)
    _ = Array(request.utf8).withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while case let count = recv(descriptor, &part, part.count, 0), count > 0 { bytes += part[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("a hub serves its page at the printed address and reports there what peers do")
  func serves() throws {
    let hub = try serve("--web", "127.0.0.1:0")
    let url = try url(hub)
    #expect(url.query?.hasPrefix("code=") == true)
    #expect(try get(url, "/").status == "200")
    try bench.run("set", "lamp.on=true")
    let status = try get(url, "/status.json")
    #expect(status.status == "200")
    #expect(status.text.contains("\"lamp\""))
    #expect(try get(url, "/metrics").text.contains("\nbindbus_hub_commits_total 1\n"))
    hub.send(SIGTERM)
    #expect(hub.end() == 0)
  }

  /// The cookie that a browser gets for the printed address, or nil.
  private func cookie(_ url: URL) throws -> String? {
    let answer = try WebTests.exchange(
      "GET /?\(url.query ?? "") HTTP/1.0\r\nHost: 127.0.0.1:\(try #require(url.port))\r\n\r\n",
      port: try #require(url.port))
    let line = answer.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("set-cookie: ") }
    return line.map { "Cookie: " + $0.dropFirst("set-cookie: ".count).prefix { $0 != ";" } }
  }

  @Test("a browser's session survives a restart of the hub, and `bindhub web` prints a fresh address")
  func restarted() throws {
    let first = try serve("--web", "127.0.0.1:0")
    let url = try url(first)
    let port = try #require(url.port)
    let cookie = try #require(try cookie(url))
    let entry = bench.folder.path + "/hub.sock.db.web"
    #expect(try FileManager.default.attributesOfItem(atPath: entry)[.posixPermissions] as? Int == 0o600)
    first.send(SIGKILL)
    _ = first.end()
    let second = try serve("--web", "127.0.0.1:\(port)")
    #expect(second.line { $0.hasPrefix("web http://127.0.0.1:\(port)/?code=") } != nil)
    let request = "GET / HTTP/1.0\r\nHost: 127.0.0.1:\(port)\r\n\(cookie)\r\n\r\n"
    #expect(try WebTests.exchange(request, port: port).hasPrefix("HTTP/1.1 200"))
    #expect(try self.cookie(url) == nil)
    for _ in 0..<2 {
      let web = try RunningProcess(Bench.program("bindhub"), ["web"], hub: bench.hub)
      #expect(web.end() == 0)
      let fresh = try #require(web.output.first.flatMap { URL(string: $0) })
      #expect(fresh.port == port)
      #expect(try self.cookie(fresh) != nil)
      #expect(try self.cookie(fresh) == nil)
    }
    withExtendedLifetime(second) {}
  }

  @Test("`bindhub web` reports what is missing: a hub, its pages or the permissions of the key file")
  func noEntry() throws {
    func web(_ code: Int32, _ words: String) throws {
      let web = try RunningProcess(Bench.program("bindhub"), ["web"], hub: bench.hub)
      #expect(web.end() == code, "\(web.output)")
      #expect(web.line { $0.contains(words) } != nil, "\(web.output)")
    }
    try web(69, "No hub answers")
    do {
      let hub = try serve()
      try #require(hub.line { $0.hasPrefix("listening") } != nil)
      try web(1, "bindhub serve --web")
      hub.send(SIGTERM)
      _ = hub.end()
    }
    let hub = try serve("--web", "127.0.0.1:0")
    _ = try url(hub)
    chmod(bench.folder.path + "/hub.sock.db.web", 0o644)
    try web(78, "chmod 600")
    withExtendedLifetime(hub) {}
  }

  @Test("without a required token the printed address has none")
  func open() throws {
    let hub = try serve("--web=127.0.0.1:0", "--web-open")
    let url = try url(hub)
    #expect(url.query == nil)
    #expect(try get(url, "/").status == "200")
    withExtendedLifetime(hub) {}
  }

  @Test("a folder of pages is served below /pages/")
  func pages() throws {
    let page = bench.folder.appendingPathComponent("index.html")
    try Data("<p>mine".utf8).write(to: page)
    let hub = try serve("--web", "127.0.0.1:0", "--pages", bench.folder.path)
    #expect(try get(try url(hub), "/pages/").text == "<p>mine")
    withExtendedLifetime(hub) {}
  }

  @Test("invalid web options exit with their code and a remedy")
  func refused() throws {
    let first = try serve("--web", "127.0.0.1:0")
    let port = try #require(try url(first).port)
    let cases: [(arguments: [String], code: Int32, words: String)] = [
      (["--web", "127.0.0.1:\(port)"], 73, "--web 127.0.0.1:PORT"), (["--web", "0.0.0.0:0"], 78, "--insecure"),
      (["--web", "0.0.0.0:0"], 78, "--web-tls CERT KEY"),
      (["--web", "0.0.0.0:0"], 78, "--web-proxy ADDRESS --web-origin https://NAME"),
      (["--web", "0.0.0.0:0", "--web-origin", "https://panel.example"], 78, "not encrypted"),
      (["--web", "--web-origin", "panel.example"], 64, "https://panel.example"),
      (["--web", "--web-proxy", "proxy"], 64, "10.0.0.0/24"), (["--web", "--web-tls", "a.pem"], 64, "two files"),
      (["--web-tls", "a.pem", "a.key"], 64, "needs --web"), (["--web-proxy", "10.0.0.2"], 64, "needs --web"),
      (["--web-origin", "https://panel.example"], 64, "needs --web"),
      (["--web", "here"], 64, "HOST:PORT"),
      (["--web", "127.0.0.1:0", "--pages", "/nothing/here"], 64, "/nothing/here"),
      (["--web-open"], 64, "needs --web"), (["--pages", "/tmp"], 64, "needs --web"),
    ]
    for (arguments, code, words) in cases {
      let address = "ipc://\(bench.folder.path)/other.sock"
      let hub = try RunningProcess(
        Bench.program("bindhub"),
        ["serve", "--listen", address, "--exit-with-stdin", "--log", "error", "--store", "memory"] + arguments)
      #expect(hub.end() == code, "\(arguments): \(hub.output)")
      #expect(hub.line { $0.contains(words) } != nil, "\(arguments): \(hub.output)")
    }
    withExtendedLifetime(first) {}
  }

  @Test("named origins are printed, and behind a named proxy an address beyond loopback needs no --insecure")
  func origins() throws {
    let hub = try serve(
      "--web", "0.0.0.0:0", "--web-origin", "https://panel.example", "--web-origin=http://hall.lan:8080",
      "--web-proxy", "192.0.2.1", "--web-proxy=fd00::/8")
    #expect(hub.line { $0.hasPrefix("web https://panel.example/?code=") } != nil, "\(hub.output)")
    let web = try RunningProcess(Bench.program("bindhub"), ["web"], hub: bench.hub)
    #expect(web.end() == 0 && web.output.first?.hasPrefix("https://panel.example/?code=") == true)
    withExtendedLifetime(hub) {}
  }

  #if WebTLS
    @Test("pages are encrypted with the files of --web-tls, and SIGHUP rereads them")
    func encrypted() throws {
      let stored = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("BindingWebTests/Certificates")
      let (certificate, key) = (bench.folder.path + "/hall.pem", bench.folder.path + "/hall.key")
      func put(_ name: String, _ path: String) throws {
        try Data(contentsOf: stored.appendingPathComponent(name)).write(to: URL(fileURLWithPath: path))
      }
      try put("hall.pem", certificate)
      try put("hall.key", key)
      chmod(key, 0o644)
      let wide = try serve("--web", "127.0.0.1:0", "--web-tls", certificate, key)
      #expect(wide.end() == 78 && wide.line { $0.contains("chmod 600 \(key)") } != nil, "\(wide.output)")
      chmod(key, 0o600)
      let hub = try serve("--web", "127.0.0.1:0", "--web-tls", certificate, key, "--log", "info")
      #expect(hub.line { $0.hasPrefix("web https://127.0.0.1:") } != nil, "\(hub.output)")
      try put("renewed.key", key)
      hub.send(SIGHUP)
      #expect(hub.line { $0.contains("the certificate of before stays in use") } != nil, "\(hub.output)")
      try put("renewed.pem", certificate)
      hub.send(SIGHUP)
      #expect(hub.line { $0.contains("using the certificate as it is now") } != nil, "\(hub.output)")
      let name = try RunningProcess(Bench.program("bindhub"), ["web", "--own-name"], hub: bench.hub)
      #expect(name.end() == 1 && name.line { $0.contains("without --web-tls") } != nil, "\(name.output)")
      hub.send(SIGTERM)
      #expect(hub.end() == 0)
    }
  #endif

  @Test("--web without an address uses 127.0.0.1:7880")
  func usual() throws {
    let help = try RunningProcess(Bench.program("bindhub"), ["serve", "--help"])
    #expect(help.end() == 0)
    #expect(help.line { $0.contains("--web <address>") } != nil)
    #expect(help.line { $0.contains("127.0.0.1:7880") } != nil)
    // Whether that port is free or not, the output names it.
    let hub = try serve("--web", "--web-open")
    #expect(hub.line { $0.contains("127.0.0.1:7880") } != nil, "\(hub.output)")
    withExtendedLifetime(hub) {}
  }
}
