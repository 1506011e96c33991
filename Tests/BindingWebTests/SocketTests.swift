import BindingHub
import BindingProtocol
import BindingWeb
import Testing

@Suite("WebSocket messages of pages", .serialized)
struct SocketTests {
  private let site: Site

  init() throws { site = try Site() }

  private func text(_ count: Int) -> [UInt8] {
    Array(#"{"kind":"ping","token":1,"x":""#.utf8) + [UInt8](repeating: 0x61, count: count - 32) + Array("\"}".utf8)
  }

  /// Sends frames on a welcomed page and returns the code with which it is closed.
  private func closeCode(_ refusal: String?, _ send: (RawClient) -> Void) throws -> Int? {
    let page = try site.welcomedPage()
    send(page)
    let code = try page.closeCode()
    #expect(page.ends())
    if let refusal { #expect(try site.refusals(refusal) >= 1, "\(refusal)") }
    return code
  }

  private func answers(_ send: (RawClient) -> Void) throws -> Bool {
    let page = try site.welcomedPage()
    send(page)
    return try page.frame { $0.opcode == 1 && $0.text.contains("pong") }.text.contains("1")
  }

  @Test("a message may be fragmented, with a ping between its fragments")
  func parts() throws {
    let message = text(64)
    #expect(
      try answers { page in
        page.frame(0x01, Array(message[..<10]))
        page.frame(0x89, [1, 2, 3])
        page.frame(0x00, [])
        page.frame(0x00, Array(message[10..<30]))
        page.frame(0x80, Array(message[30...]))
      })
  }

  @Test("a message may have 98,304 bytes and no more, whole or fragmented")
  func longest() throws {
    #expect(try answers { $0.frame(0x81, text(98_304)) })
    #expect(try closeCode("messageTooLong") { $0.frame(0x81, text(98_305)) } == 1009)
    #expect(
      try closeCode("messageTooLong") { page in
        let half = [UInt8](repeating: 0x20, count: 50_000)
        page.frame(0x01, half)
        page.frame(0x80, half)
      } == 1009)
    #expect(
      try closeCode("messageTooLong") { $0.send([0x81, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7)) } == 1009)
  }

  @Test("an unmasked frame is refused")
  func unmasked() throws {
    #expect(try closeCode("unmasked") { $0.frame(0x81, text(40), isMasked: false) } == 1002)
  }

  @Test("fragments out of sequence are refused")
  func wrongParts() throws {
    #expect(try closeCode("badFragment") { $0.frame(0x80, text(40)) } == 1002)
    #expect(
      try closeCode("badFragment") { page in
        page.frame(0x01, text(40))
        page.frame(0x81, text(40))
      } == 1002)
  }

  @Test("a fragmented, long or malformed control frame is refused")
  func control() throws {
    #expect(try closeCode("badFrame") { $0.frame(0x09, [1]) } == 1002)
    #expect(try closeCode("badFrame") { $0.frame(0x89, [UInt8](repeating: 0, count: 126)) } == 1002)
    #expect(try closeCode("badFrame") { $0.frame(0x88, [3]) } == 1002)
    #expect(try closeCode("badFrame") { $0.frame(0x88, [0x03, 0xED]) } == 1002)
  }

  @Test("unknown opcodes and reserved bits are refused")
  func unknown() throws {
    #expect(try closeCode("badFrame") { $0.frame(0x83, text(40)) } == 1002)
    #expect(try closeCode("badFrame") { $0.frame(0x8B, []) } == 1002)
    #expect(try closeCode("badFrame") { $0.frame(0xC1, text(40)) } == 1002)
  }

  @Test("binary messages and texts that are not UTF-8 are refused")
  func texts() throws {
    #expect(try closeCode("binary") { $0.frame(0x82, text(40)) } == 1003)
    #expect(try closeCode("notUTF8") { $0.frame(0x81, [0x22, 0xFF, 0x22]) } == 1007)
    #expect(try closeCode("notUTF8") { $0.frame(0x81, [0x22, 0xED, 0xA0, 0x80, 0x22]) } == 1007)
  }

  @Test("a text that is no message of the protocol ends the page with 4000")
  func malformed() throws {
    #expect(try closeCode(nil) { $0.sendText("{") } == 4000)
    #expect(try closeCode(nil) { $0.sendText("[]") } == 4000)
    #expect(try closeCode(nil) { $0.sendText(String(repeating: "[", count: 90_000)) } == 4000)
  }

  @Test("a page that floods is closed, and other pages are not affected")
  func flood() throws {
    let other = try site.welcomedPage()
    let ping = RawClient.frame(0x81, Array(#"{"kind":"ping","token":1}"#.utf8))
    let page = try site.welcomedPage()
    page.send([UInt8]((0..<3_000).flatMap { _ in ping }))
    #expect(try page.closeCode() == 1008)
    #expect(try site.refusals("flood") == 1)
    other.sendText(#"{"kind":"ping","token":7}"#)
    #expect(try other.frame { $0.text.contains("pong") }.text.contains("7"))
  }

  @Test("a closing page is answered with its own code")
  func closes() throws {
    #expect(try closeCode(nil) { $0.frame(0x88, [0x03, 0xE8]) } == 1000)
    let page = try site.welcomedPage()
    page.frame(0x88, [])
    #expect(try page.frame { $0.opcode == 8 }.payload.isEmpty)
    #expect(page.ends())
  }

  @Test("a ping is answered with its payload")
  func ping() throws {
    let page = try site.welcomedPage()
    page.frame(0x89, [1, 2, 3])
    #expect(try page.frame { $0.opcode == 10 }.payload == [1, 2, 3])
  }
}

@Suite("Liveness of pages", .serialized)
struct PageLivenessTests {
  @Test("a page is pinged, and closed when it stays silent")
  func silence() throws {
    let site = try Site {
      $0.limits.pingInterval = .milliseconds(50)
      $0.limits.silenceTimeout = .seconds(2)
    }
    let page = try site.welcomedPage()
    #expect(try page.frame { $0.opcode == 9 }.payload.isEmpty)
    #expect(try page.closeCode() == 4004)
    #expect(try site.refusals("silence") == 1)
  }

  @Test("a page that answers pings stays connected")
  func pongs() throws {
    let site = try Site {
      $0.limits.pingInterval = .milliseconds(20)
      $0.limits.silenceTimeout = .seconds(2)
    }
    let page = try site.welcomedPage()
    for _ in 0..<150 {
      _ = try page.frame { $0.opcode == 9 }
      page.frame(0x8A, [])
    }
    #expect(try site.refusals("silence") == 0)
  }

  @Test("a page past the limit is closed with 4005, and a closed one makes room")
  func tooMany() throws {
    let site = try Site { $0.limits.pages = 2 }
    let first = try site.welcomedPage()
    let second = try site.welcomedPage()
    #expect(try site.page().closeCode() == 4005)
    #expect(try site.refusals("tooManyPages") == 1)
    first.frame(0x88, [0x03, 0xE8])
    #expect(first.ends())
    _ = try site.welcomedPage()
    withExtendedLifetime(second) {}
  }

  @Test("a page that sends no hello is closed with 4004")
  func noHello() throws {
    let site = try Site()
    #expect(try site.page().closeCode() == 4004)
  }

  @Test("a page that does not read is not read from, and other pages are not affected")
  func stalled() throws {
    let site = try Site {
      $0.limits.messagesAtOnce = 1_000_000
      $0.limits.fullBytes = 50_000
      $0.limits.roomBytes = 20_000
    }
    let page = try site.welcomedPage(receiveBytes: 4_096)
    let ping = RawClient.frame(0x89, [UInt8](repeating: 1, count: 125))
    let some = [UInt8]((0..<100).flatMap { _ in ping })
    // The buffers of the system on both sides fill up first.
    #expect(
      eventually {
        for _ in 0..<20 { page.sendWithoutWaiting(some) }
        return try site.fullPages() > 0
      })
    let other = try site.welcomedPage()
    other.sendText(#"{"kind":"ping","token":7}"#)
    #expect(try other.frame { $0.text.contains("pong") }.text.contains("7"))
    #expect(try site.refusals("flood") == 0)
  }

  @Test("a stopped gateway closes its pages with 1001")
  func goes() throws {
    let site = try Site()
    let page = try site.welcomedPage()
    site.gateway.stop()
    #expect(try page.closeCode() == 1001)
    #expect(page.ends())
    #expect(throws: RawClient.Failure.self) { try site.client() }
    site.gateway.stop()
  }

  @Test("a stopped hub closes pages with 1012, and the gateway reports that it is not ready")
  func hubGoes() throws {
    let site = try Site()
    let page = try site.welcomedPage()
    site.hub.stop()
    #expect(try page.closeCode() == 1012)
    #expect(try site.ask("GET", "/readyz", []).status == 503)
    #expect(try site.ask("GET", "/healthz", []).status == 200)
    #expect(try site.ask("GET", "/status.json").status == 503)
    #expect(try site.ask("GET", "/metrics").text.contains("bindbus_hub_up 0\n"))
  }
}
