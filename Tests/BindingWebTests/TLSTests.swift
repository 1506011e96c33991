#if WebTLS
  import BindingProtocol
  import Foundation
  import NIOSSL
  import Testing

  @testable import BindingWeb

  @Suite("Pages over TLS", .serialized)
  struct TLSTests {
    private let folder: CertificateFolder
    private let site: Site
    private let relay: TLSRelay

    init() throws {
      let folder = try CertificateFolder()
      self.folder = folder
      site = try Site {
        $0.certificate = folder.files
        $0.limits.requestTimeout = .seconds(60)
        $0.limits.strangers = 8
        $0.limits.connections = 24
      }
      relay = try TLSRelay(to: site.port)
      site.clientPort = relay.port
    }

    @Test("pages are served over https, and the printed address and the cookie say so")
    func pages() throws {
      #expect(site.gateway.url.hasPrefix("https://\(site.host)/?code="))
      let reply = try site.ask("GET", "/?code=\(site.code)", [])
      #expect(reply.status == 303)
      #expect(reply["set-cookie"]?.hasSuffix("; Secure; HttpOnly; SameSite=Lax; Path=/") == true)
      #expect(try site.ask("GET", "/", [site.cookie]).status == 200)
      let file = try site.ask("GET", "/bind.js")
      #expect(file.status == 200 && file.body.count > 10_000)
      #expect(reply["strict-transport-security"] == nil)
    }

    @Test("a page opens its WebSocket over TLS, and only one of the same scheme does")
    func socket() throws {
      let page = try site.welcomedPage()
      page.sendText(#"{"kind":"ping","token":7}"#)
      #expect(try page.frame { $0.text.contains("pong") }.text.contains("7"))
      let other = ["Origin: http://\(site.host)", site.cookie]
      #expect(try site.client().upgrade(other, host: site.host).status == 403)
    }

    @Test("a message of many records passes whole")
    func long() throws {
      let page = try site.welcomedPage()
      page.sendText(#"{"kind":"ping","token":7}"# + String(repeating: " ", count: 90_000))
      #expect(try page.frame { $0.text.contains("pong") }.text.contains("7"))
    }

    @Test("TLS 1.2 and later are spoken, earlier versions and other protocols than HTTP/1.1 are not")
    func versions() throws {
      for version in [TLSVersion.tlsv12, .tlsv13] {
        let done = try TLSClient.handshake(site.port) {
          ($0.minimumTLSVersion, $0.maximumTLSVersion) = (version, version)
          $0.applicationProtocols = ["h2", "http/1.1"]
        }
        #expect(done.version == version && done.applicationProtocol == "http/1.1")
      }
      for version in [TLSVersion.tlsv1, .tlsv11] {
        #expect(throws: (any Error).self) {
          try TLSClient.handshake(site.port) { ($0.minimumTLSVersion, $0.maximumTLSVersion) = (version, version) }
        }
      }
      #expect(try TLSClient.handshake(site.port) { $0.applicationProtocols = ["h2"] }.applicationProtocol == nil)
      #expect(try site.refusals("handshake") == 2)
    }

    @Test("a request without TLS is answered with the end of the connection, and counted")
    func plain() throws {
      let client = try RawClient(port: site.port)
      client.send("GET / HTTP/1.1\r\nHost: \(site.host)\r\n\(site.bearer)\r\n\r\n")
      #expect(client.ends())
      #expect(try site.refusals("handshake") == 1)
    }

    @Test("a handshake that is not finished in time ends the connection")
    func slow() throws {
      let files = folder.files
      let site = try Site {
        $0.certificate = files
        $0.limits.requestTimeout = .seconds(1)
      }
      let silent = try RawClient(port: site.port)
      let slow = try RawClient(port: site.port)
      slow.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
      #expect(silent.ends())
      #expect(slow.ends())
      let relay = try TLSRelay(to: site.port)
      site.clientPort = relay.port
      #expect(eventually { try site.refusals("slowRequest") >= 2 })
    }

    @Test("unfinished handshakes close the oldest of their kind, and exclude nobody who has access")
    func strangers() throws {
      let page = try site.welcomedPage()
      var silent: [RawClient] = []
      for number in 0..<40 {
        silent.append(try RawClient(port: site.port))
        silent[number].send([0x16, 0x03, 0x01])
        if number.isMultiple(of: 8) { #expect(try site.ask("GET", "/").status == 200, "\(number)") }
      }
      #expect(silent[0].ends())
      page.sendText(#"{"kind":"ping","token":7}"#)
      #expect(try page.frame { $0.text.contains("pong") }.text.contains("7"))
      #expect(try site.refusals("tooManyConnections") == 0)
      #expect(try site.refusals("tooManyStrangers") >= 32)
    }

    @Test("a renewed certificate is for new connections, and those that are open stay")
    func renewed() throws {
      let page = try site.welcomedPage()
      let before = try TLSClient.handshake(site.port).certificate
      try folder.use("renewed")
      try site.gateway.reloadCertificate()
      let after = try TLSClient.handshake(site.port).certificate
      #expect(before != nil && after != nil && before != after)
      #expect(try site.ask("GET", "/", host: "renewed.example:\(site.port)").status == 200)
      #expect(try site.ask("GET", "/", host: "hall.example:\(site.port)").status == 421)
      page.sendText(#"{"kind":"ping","token":7}"#)
      #expect(try page.frame { $0.text.contains("pong") }.text.contains("7"))
    }

    @Test("wrong files are not taken: the pair of before stays in use, and the status tells why")
    func keptPair() throws {
      let before = try TLSClient.handshake(site.port).certificate
      try folder.use("renewed", key: "hall")
      #expect(throws: WebError.self) { try site.gateway.reloadCertificate() }
      #expect(try TLSClient.handshake(site.port).certificate == before)
      #expect(try certificate()["problem"]?.string?.contains("two files that belong together") == true)
      try folder.use("renewed")
      try site.gateway.reloadCertificate()
      #expect(try certificate()["problem"] == .null)
      #expect(try certificate()["names"]?.elements?.first?.string == "renewed.example")
    }

    @Test("the names of the certificate are the gateway's own, others are not")
    func names() throws {
      for name in ["hall.example", "a.rooms.example", "HALL.example", "[::1]", "localhost"] {
        #expect(try site.ask("GET", "/", host: "\(name):\(site.port)").status == 200, "\(name)")
      }
      for name in ["rooms.example", ".rooms.example", "a.b.rooms.example", "evil.example", "hall.example.evil"] {
        #expect(try site.ask("GET", "/", host: "\(name):\(site.port)").status == 421, "\(name)")
      }
    }

    private func certificate() throws -> JSON {
      try #require(try JSON(parsing: site.ask("GET", "/status.json").body)["web"]?["certificate"])
    }
  }

  @Suite("Files of certificates", .serialized)
  struct CertificateFileTests {
    private let folder: CertificateFolder

    init() throws { folder = try CertificateFolder() }

    private func problem() -> String {
      do throws(WebError) {
        _ = try ServerTLS(folder.files)
        return ""
      } catch { return error.description }
    }

    @Test("each mistake in the two files is told with its remedy")
    func mistakes() throws {
      let (hall, key) = (try CertificateFolder.text("hall.pem"), try CertificateFolder.text("hall.key"))
      let issuer = try CertificateFolder.text("issuer.pem")
      #expect(problem() == "")
      let cases: [(certificate: String, key: String, words: String)] = [
        (key, hall, "name the certificate first"), (hall, hall, "name the key second"),
        ("nothing", key, "no certificate in PEM form"), (hall, "", "no private key in PEM form"),
        (issuer, key, "two files that belong together"), (issuer + hall, key, "is not the first in it"),
        (hall, try CertificateFolder.text("renewed.key"), "two files that belong together"),
        (hall, try CertificateFolder.text("encrypted.key"), "openssl pkey"),
        (hall.replacingOccurrences(of: "MII", with: "MIJ"), key, "damaged"),
        (hall, key.replacingOccurrences(of: "MIG", with: "MIJ"), "damaged"),
        (hall + String(repeating: issuer, count: 16), key, "at most 16"),
        (hall + String(repeating: "\n", count: 1_048_576), key, "longer than 1048576 bytes"),
      ]
      for (certificate, key, words) in cases {
        try folder.write(certificate, key: key)
        #expect(problem().contains(words), "\(words): \(problem())")
      }
      try folder.write(hall + String(repeating: issuer, count: 15), key: key)
      #expect(problem() == "")
    }

    @Test("a key that others can read, a missing file, and what is no file are refused")
    func files() throws {
      let (hall, key) = (try CertificateFolder.text("hall.pem"), try CertificateFolder.text("hall.key"))
      for mode in [0o644, 0o640, 0o604, 0o660] {
        try folder.write(hall, key: key, mode: mode)
        #expect(problem().contains("chmod 600 \(folder.key.path)"), "\(problem())")
      }
      try FileManager.default.removeItem(at: folder.key)
      #expect(problem().contains(folder.key.path) && problem().contains("No such file"), "\(problem())")
      try FileManager.default.createDirectory(at: folder.key, withIntermediateDirectories: false)
      #expect(problem().contains("it is not a file"), "\(problem())")
    }

    @Test("an expired or nameless certificate is served, with a warning in the status")
    func warned() throws {
      for (name, words) in [("expired", "expired on 2021-01-01T00:00:00Z"), ("nameless", "subjectAltName")] {
        try folder.use(name, key: "hall")
        let files = folder.files
        let site = try Site { $0.certificate = files }
        let relay = try TLSRelay(to: site.port) { $0.certificateVerification = .none }
        site.clientPort = relay.port
        let status = try JSON(parsing: site.ask("GET", "/status.json").body)["web"]
        #expect(status?["certificate"]?["problem"]?.string?.contains(words) == true, "\(status?.text ?? "")")
        #expect(status?["isUnprotected"]?.boolean == false)
        let line = "bindbus_web_certificate_expiry_timestamp_seconds "
        #expect(try site.ask("GET", "/metrics").text.contains("\n\(line)"))
      }
    }

    @Test("on all interfaces the printed address has a name of the certificate, and needs no --insecure")
    func everywhere() throws {
      let files = folder.files
      let site = try Site {
        $0.address = WebAddress(host: "0.0.0.0", port: 0)
        $0.certificate = files
      }
      #expect(site.gateway.url.hasPrefix("https://hall.example:\(site.port)/?code="))
    }
  }
#else
  import BindingHub
  import Testing

  @testable import BindingWeb

  @Suite("Pages over TLS")
  struct NoTLSTests {
    @Test("a build without TLS says so")
    func refused() throws {
      var configuration = WebGateway.Configuration()
      configuration.certificate = WebCertificate(certificatePath: "a.pem", keyPath: "a.key")
      let gateway = WebGateway(hub: try Hub.embedded(), configuration: configuration)
      #expect(throws: WebError.noTLS) { try gateway.start() }
    }
  }
#endif
