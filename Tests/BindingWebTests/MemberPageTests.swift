import BindingKeys
import BindingProtocol
import BindingWeb
import Foundation
import Testing

/// Invitations to pages, over HTTP and WebSockets, against a hub with keys.
@Suite("Browsers that invitations let in", .serialized)
struct MemberPageTests {
  private let site: KeyedSite

  init() throws { site = try KeyedSite() }

  private func text(_ page: RawClient, _ kind: String) throws -> JSON {
    try JSON(parsing: page.frame { $0.opcode == 1 && $0.text.hasPrefix(#"{"kind":"\#(kind)""#) }.text)
  }

  @Test("an address asks a person first, and then lets one browser in, for the page that it names")
  func once() throws {
    let (code, id) = try site.invite()
    for method in ["GET", "HEAD", "GET"] {
      let asked = try site.ask(method, "/form/lamp?code=\(code)")
      #expect(asked.status == 200 && asked["set-cookie"] == nil && asked["cache-control"] == "no-store")
      #expect(method == "HEAD" || asked.text.contains("invited as gus") && asked.text.contains(code))
    }
    #expect(try site.ask("HEAD", "/?code=\(code)&enter=1")["set-cookie"] == nil)
    #expect(try site.sessions.isEmpty)
    let reply = try site.ask(
      "GET", "/form/lamp?x=1&code=\(code)&enter=1", ["User-Agent: Mozilla/5.0 (Android 14) Firefox/128.0"])
    #expect(reply.status == 303 && reply["location"] == "/form/lamp?x=1")
    #expect(reply["set-cookie"]?.hasSuffix("; Max-Age=2592000; HttpOnly; SameSite=Lax; Path=/") == true)
    let session = try #require(try site.sessions.first?.value)
    #expect(session.name == "gus" && session.role == "guest" && session.label == "Firefox on Android")
    #expect(session.invitation == id)
    #expect(try site.ask("GET", "/?code=\(code)&enter=1").status == 401)
    #expect(try site.sessions.count == 1)
  }

  @Test("two browsers that use an address at the same time: one of them is let in")
  func together() throws {
    let code = try site.invite().code
    let clients = try (0..<4).map { _ in try RawClient(port: site.port) }
    for client in clients { client.send("GET /?code=\(code)&enter=1 HTTP/1.1\r\nHost: \(site.host)\r\n\r\n") }
    #expect(try clients.map { try $0.reply().status }.sorted() == [303, 401, 401, 401])
  }

  @Test(
    "a wrong, used, expired or withdrawn address gets one page, which says what to do", arguments: ["", "&enter=1"])
  func refused(_ more: String) throws {
    let (used, expired, withdrawn) = (try site.invite(), try site.invite(lifetime: 0), try site.invite())
    #expect(try site.ask("GET", "/?code=\(used.code)&enter=1").status == 303)
    try site.decide(.withdraw(id: withdrawn.id))
    let codes = [used.code, expired.code, withdrawn.code, PageSecret.random(), "x", ""]
    let replies = try codes.map { try site.ask("GET", "/?code=\($0)\(more)") }
    #expect(Set(replies.map(\.text)).count == 1 && replies.allSatisfy { $0.status == 401 && $0["set-cookie"] == nil })
    #expect(replies[0].text.contains("Ask who sent it to you for another"))
  }

  @Test("its cookie opens pages, not the reports of the hub, and nothing like it opens anything")
  func cookie() throws {
    let cookie = try site.enter()
    #expect(try site.ask("GET", "/", [cookie]).status == 200)
    #expect(try site.ask("GET", "/status.json", [cookie]).status == 403)
    #expect(try site.ask("GET", "/metrics", [cookie]).status == 403)
    let parts = cookie.split(separator: "-")
    let (id, secret) = (String(parts[parts.count - 2]), String(parts[parts.count - 1]))
    let name = "Cookie: bindbus-session-\(site.port)="
    let hash = try #require(try site.sessions[id]).secretHash
    for value in [
      "page-\(id)-\(PageSecret.random())", "page-\(id)-", "page-\(id)", "page-\(PageSecret.randomID())-\(secret)",
      "page-\(id)-\(hash)", "\(id)-\(secret)", secret, "page--\(secret)", "page-\(id)-\(secret)-",
    ] {
      #expect(try site.ask("GET", "/", [name + value]).status == 401, "\(value)")
      #expect(try RawClient(port: site.port).upgrade([name + value, site.origin], host: site.host).status == 401)
    }
    #expect(try site.ask("GET", "/", ["Authorization: Bearer \(secret)"]).status == 401)
    #expect(try site.ask("GET", "/?token=\(secret)", []).status == 401)
    let foreign = try RawClient(port: site.port).upgrade([cookie, "Origin: http://evil.example"], host: site.host)
    #expect(foreign.status == 403)
  }

  @Test("its page may do what the member may: the hub decides, the others' pages stay unlimited")
  func rights() throws {
    let guest = try site.page(try site.enter())
    let welcome = try text(guest, "welcome")
    #expect(welcome["user"] == "gus" && welcome["admin"] == false)
    let owner = try site.page("Authorization: Bearer \(site.gateway.token ?? "")")
    #expect(try text(owner, "welcome")["user"] == nil)
    for model in ["secret", "public/lamp"] {
      owner.sendText(#"{"kind":"join","model":"\#(model)"}"#)
      _ = try text(owner, "catchup")
      owner.sendText(#"{"kind":"propose","model":"\#(model)","number":1,"operations":[["set","level",4711]]}"#)
      _ = try text(owner, "outcomes")
    }
    guest.sendText(#"{"kind":"join","model":"secret"}"#)
    #expect(try text(guest, "error")["text"] == "secret: gus (guest) lacks the right read")
    guest.sendText(#"{"kind":"join","model":"public/lamp"}"#)
    #expect(try text(guest, "catchup")["fields"]?[0]?[6] == 4711)
  }

  @Test("a browser that is ended loses its pages at once, and its cookie is worthless", arguments: [true, false])
  func ended(byID: Bool) throws {
    let cookie = try site.enter()
    let other = try site.enter("anna", role: nil)
    let pages = try [cookie, other].map(site.page)
    for page in pages { _ = try text(page, "welcome") }
    let id = try #require(try site.sessions.first { $0.value.name == "gus" }).key
    try site.decide(byID ? .endPage(id: id) : .revoke(name: "gus"))
    #expect([1012, 4006].contains(try pages[0].closeCode()))
    #expect(eventually { try site.ask("GET", "/", [cookie]).status == 401 })
    #expect(try site.ask("GET", "/", [other]).status == 200)
    pages[1].sendText(#"{"kind":"ping","token":7}"#)
    #expect(try text(pages[1], "pong")["token"] == 7)
  }

  @Test("a member who is kicked is kept out by its browser, too, and is back by the same cookie")
  func kicked() throws {
    let cookie = try site.enter()
    let page = try site.page(cookie)
    _ = try text(page, "welcome")
    try site.decide(.kick(name: "gus", until: KeyedSite.now + 600))
    #expect([1012, 4006].contains(try page.closeCode()))
    #expect(eventually { try site.ask("GET", "/", [cookie]).status == 401 })
    try site.decide(.readmit(name: "gus"))
    #expect(eventually { try site.ask("GET", "/", [cookie]).status == 200 })
    #expect(try text(site.page(cookie), "welcome")["user"] == "gus")
  }

  @Test("a page that may ends another browser: its page closes, and its cookie is worthless")
  func endedByPage() throws {
    let cookie = try site.enter()
    let guest = try site.page(cookie)
    _ = try text(guest, "welcome")
    let anna = try site.page(try site.enter("anna", role: nil))
    #expect(try text(anna, "welcome")["admin"] == true)
    let id = try #require(try site.sessions.first { $0.value.name == "gus" }).key
    guest.sendText(#"{"kind":"end","session":"\#(id)"}"#)
    #expect(try text(guest, "error")["code"] == "notPermitted")
    anna.sendText(#"{"kind":"end","session":"nobody"}"#)
    anna.sendText(#"{"kind":"end","session":"\#(id)"}"#)
    #expect(try guest.closeCode() == 4006)
    #expect(try site.ask("GET", "/", [cookie]).status == 401)
    #expect(try site.sessions.map(\.value.name) == ["anna"])
  }

  @Test("the log names who was let in and ended, and holds no secret")
  func audit() throws {
    let code = try site.invite().code
    let reply = try site.ask("GET", "/?code=\(code)&enter=1")
    let cookie = try #require(reply["set-cookie"])
    let secret = String(try #require(cookie.prefix { $0 != ";" }.split(separator: "-").last))
    var text = ""
    func logs(_ event: String) -> Bool {
      eventually {
        text = try String(contentsOfFile: site.keys.auditPath, encoding: .utf8)
        return text.contains(event)
      }
    }
    // The hub notes what has become of the file since it looked last.
    #expect(logs("pageAdmitted"))
    try site.decide(.revoke(name: "gus"))
    #expect(logs("pageEnded"))
    let members = try String(contentsOfFile: site.keys.membersPath, encoding: .utf8)
    for secret in [code, secret] { #expect(!text.contains(secret) && !members.contains(secret)) }
  }

  @Test("where the pages are is written down for invitations")
  func address() throws { #expect(try site.keys.pagesURL() == "http://\(site.host)") }

  @Test(
    "a browser is listed by a few words of its own",
    arguments: [
      ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox on Linux"),
      ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0", "Edge on Windows"),
      ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Safari/604.1", "Safari on iPhone"),
      ("curl/8.0", "curl/8.0"), (String(repeating: "x", count: 500), String(repeating: "x", count: 64)),
    ])
  func labels(_ agent: String, _ label: String) throws {
    let code = try site.invite().code
    #expect(try site.ask("GET", "/?code=\(code)&enter=1", ["User-Agent: \(agent)"]).status == 303)
    #expect(try site.sessions.map(\.value.label) == [label])
  }
}
