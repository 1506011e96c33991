import BindingKeys
import BindingProtocol
import Dispatch
import NIOCore
import NIOHTTP1

/// Answers requests, on the gateway's event loop.
struct RequestRouter {
  let access: AccessControl
  let userPages: UserPages?
  let loop: GatewayLoop
  let questions: HubQuestions

  /// Answers, immediately or when the disk or the hub has answered; always on the event loop.
  func answer(_ arrival: Arrival, _ respond: @escaping (Answer) -> Void) {
    let head = arrival.head
    let respond = { [self] (answer: Answer) in
      var answer = answer
      if let renewal = renewal(for: head) { answer.headers.append(renewal) }
      respond(answer)
    }
    switch look(at: arrival) {
    case .failure(let refused): respond(refused.answer)
    case .success(.page(let name)):
      respond(StoredPages.all[name].map { $0.answer(to: head.headers) } ?? RequestRouter.nothing(for: head))
    case .success(.userPage(let parts)): answer(userPage: parts, head, respond)
    case .success(.userPages):
      var answer = Answer.plainText(.movedPermanently, "Moved to /pages/.")
      answer.headers.append(("Location", "/pages/"))
      respond(answer)
    case .success(.socket): respond(noSocket(arrival))
    case .success(.health): respond(.plainText(.ok, "ok"))
    case .success(.readiness):
      respond(
        loop.isLive
          ? .plainText(.ok, "ok")
          : .plainText(.serviceUnavailable, "This gateway has no session with the hub yet. Try again."))
    case .success(.invitation(let code, let isEntering)):
      answer(invitation: code, isEntering: isEntering && head.method == .GET, head, respond)
    case .success(.status): questions.ask { [loop] in respond(Reports.status(of: loop, hub: $0)) }
    case .success(.metrics): questions.ask { [loop] in respond(Reports.metrics(of: loop, hub: $0)) }
    }
  }

  /// Whether to open a WebSocket for this request; if not, it is answered like any other.
  func opensSocket(_ arrival: Arrival) -> Bool {
    let head = arrival.head
    // Only an answer may use up a code.
    guard Target(head.uri)?["code"] == nil, case .success(.socket) = look(at: arrival), head.method == .GET else {
      return false
    }
    return isFromHere(arrival) && head.headers["sec-websocket-key"].first?.utf8.count == 24
  }

  // MARK: Access and routes

  private struct RefusalError: Error {
    let answer: Answer
  }

  private func look(at arrival: Arrival) -> Result<Route, RefusalError> {
    let head = arrival.head
    func refuse(_ answer: Answer) -> Result<Route, RefusalError> { .failure(RefusalError(answer: answer)) }
    let hosts = head.headers["host"]
    guard hosts.count == 1, let target = Target(head.uri) else {
      return refuse(
        .closing(.badRequest, "Request a path, such as GET /, with exactly one 'Host' header.", .badRequest))
    }
    guard access.isOurs(host: hosts[0], local: arrival.local) else {
      return refuse(
        .closing(
          .misdirectedRequest,
          "This gateway does not serve '\(hosts[0])'. Its address is \(access.origin). If a reverse proxy shows it "
            + "under another, start the hub with that:  --web-origin https://NAME", .foreignHost))
    }
    if let scheme = arrival.scheme, scheme != access.scheme(host: hosts[0]) {
      return refuse(
        .closing(
          .misdirectedRequest,
          "The reverse proxy says that the browser came by \(scheme); the address is \(access.origin).", .otherScheme))
    }
    guard head.method == .GET || head.method == .HEAD else {
      var answer = Answer.closing(.methodNotAllowed, "Only GET and HEAD are supported.", .otherMethod)
      answer.headers.append((name: "Allow", value: "GET, HEAD"))
      return refuse(answer)
    }
    let route = Route(path: target.path)
    if let route, route.isOpen { return .success(route) }
    if let key = access.key {
      if let answer = entry(key, hosts[0], target) { return refuse(answer) }
      if let code = target["code"].map({ String($0.suffix(PageSecret.digits)) }) {
        return .success(.invitation(code: code, isEntering: target["enter"] != nil))
      }
    }
    guard let visitor = access.visitor(head.headers, now: WebEntry.now) else {
      return refuse(RequestRouter.unknown(head.headers))
    }
    if case .member(let member) = visitor, route?.isForOwner == true {
      let words = "\(member.name) may see pages, not the report of the whole hub. A member with the right admin asks:"
      return refuse(.plainText(.forbidden, words + "  bindhub status --hub NAME", .notPermitted))
    }
    guard let route else { return refuse(RequestRouter.nothing(for: head)) }
    return .success(route)
  }

  /// The answer to an address that contains a code or the token; nil if it contains neither.
  private func entry(_ key: WebKey, _ host: String, _ target: Target) -> Answer? {
    let now = WebEntry.now
    if let shown = target["code"] {
      // The user may have pasted a whole address instead of the code.
      let code = String(shown.suffix(WebKey.codeDigits))
      guard let end = key.end(ofCode: code, now: now), loop.usedCodes.use(code, until: end, now: now) else {
        // It may be that of an invitation, which the list of members knows.
        if access.members != nil { return nil }
        return RequestRouter.refusal("This code was already used, or is older than five minutes.", isPage: true)
      }
      return letIn(key, host, to: target.without("code"))
    }
    guard let shown = target["token"] else { return nil }
    return access.isToken(shown)
      ? letIn(key, host, to: target.without("token")) : RequestRouter.refusal("The token is wrong.", isPage: true)
  }

  /// Moves the credential from the address, where it would be visible and stored, to a cookie.
  private func letIn(_ key: WebKey, _ host: String, to path: String) -> Answer {
    var answer = Answer.plainText(.seeOther, "Signed in.")
    let cookie = access.cookie(key, host: host, now: WebEntry.now)
    answer.headers += [("Location", path), ("Set-Cookie", cookie)]
    return answer
  }

  /// Shows whom an invitation is for, or lets the browser in. Only a person's confirmation uses it up: programs that
  /// show a preview of an address fetch it too.
  private func answer(
    invitation code: String, isEntering: Bool, _ head: HTTPRequestHead, _ respond: @escaping (Answer) -> Void
  ) {
    guard let members = access.members else { return }
    let refuse = {
      respond(
        RequestRouter.refusal(
          "This address was used already, is too old, or was withdrawn. Ask who sent it to you for another.",
          isPage: true))
    }
    guard isEntering else {
      return members.invitation(code) { name in
        guard let name else { return refuse() }
        var answer = Answer(
          status: .ok, type: "text/html; charset=utf-8",
          body: ByteBuffer(string: InvitationPage.html(name, code: code)), headers: [Answer.notKept])
        answer.sendsForms = true
        respond(answer)
      }
    }
    let label = BrowserName.of(userAgent: head.headers["user-agent"].first ?? "")
    let path = Target(head.uri)?.without("code", "enter") ?? "/"
    members.admit(code, label: label) { session in
      guard let session else { return refuse() }
      var answer = Answer.plainText(.seeOther, "Signed in.")
      let cookie = access.cookie(session, host: head.headers["host"].first ?? "")
      answer.headers += [("Location", path), ("Set-Cookie", cookie)]
      respond(answer)
    }
  }

  /// Renews a session that has less than half of its time left.
  func renewal(for head: HTTPRequestHead) -> (name: String, value: String)? {
    let now = WebEntry.now
    guard let key = access.key, let host = head.headers["host"].first,
      let end = access.sessionEnd(head.headers, now: now), end - now < WebKey.sessionSeconds / 2
    else { return nil }
    return ("Set-Cookie", access.cookie(key, host: host, now: now))
  }

  private static func unknown(_ headers: HTTPHeaders) -> Answer {
    refusal("This browser is not signed in, or was signed in 30 days ago.", isPage: isRead(headers))
  }

  /// Whether the answer is displayed in a browser.
  private static func isRead(_ headers: HTTPHeaders) -> Bool {
    headers[canonicalForm: "accept"].contains { $0.hasPrefix("text/html") }
  }

  /// The answer to an unauthenticated request: how to get access.
  /// - Parameter isPage: whether it is displayed in a browser.
  private static func refusal(_ why: String, isPage: Bool) -> Answer {
    var answer =
      isPage
      ? Answer(
        status: .unauthorized, type: "text/html; charset=utf-8", body: ByteBuffer(string: EntryPage.html(why)),
        headers: [Answer.notKept], refusal: .noToken)
      : .plainText(
        .unauthorized,
        "This gateway requires a token. For a browser, run  bindhub web  on the hub's machine and open the address "
          + "that it prints. For a program, send 'Authorization: Bearer TOKEN';  bindhub web --json  prints the token.",
        .noToken)
    answer.sendsForms = isPage
    answer.headers.append((name: "WWW-Authenticate", value: "Bearer realm=\"bindbus\""))
    return answer
  }

  private static func nothing(for head: HTTPRequestHead, _ why: String? = nil) -> Answer {
    let hint = "The dashboard is at /, a model's form at /form/MODEL, models as a table at /table/PREFIX."
    guard isRead(head.headers) else {
      return .plainText(.notFound, why ?? "Nothing is served at \(head.uri.prefix(200)). \(hint)", .notFound)
    }
    return Answer(
      status: .notFound, type: "text/html; charset=utf-8", body: ByteBuffer(string: NothingPage.html(why ?? hint)),
      headers: [Answer.notKept], refusal: .notFound)
  }

  // MARK: Sockets

  /// Every page in a browser states its origin; a program may omit it if it sends the token itself.
  private func isFromHere(_ arrival: Arrival) -> Bool {
    let origins = arrival.head.headers["origin"]
    return origins.isEmpty
      ? access.showsBearer(arrival.head.headers)
      : origins.count == 1 && access.isOurs(origin: origins[0], local: arrival.local)
  }

  /// Why a request for a WebSocket did not open one.
  private func noSocket(_ arrival: Arrival) -> Answer {
    guard isFromHere(arrival) else {
      return .closing(
        .forbidden, "Only pages of this gateway may open its WebSocket; a program sends 'Authorization: Bearer TOKEN'.",
        .foreignOrigin)
    }
    var answer = Answer.closing(
      .upgradeRequired, "This path is a WebSocket. Open it with a handshake of version 13 (RFC 6455).", .noHandshake)
    answer.headers += [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
    return answer
  }

  // MARK: The user's pages

  private func answer(userPage parts: [String], _ head: HTTPRequestHead, _ respond: @escaping (Answer) -> Void) {
    guard let userPages else {
      let why = "No directory of pages is served. To serve one:  bindhub serve --web --pages FOLDER"
      return respond(RequestRouter.nothing(for: head, why))
    }
    let reply = NIOLoopBound(respond, eventLoop: loop.loop)
    let limit = loop.configuration.limits.fileBytes
    DispatchQueue.global().async { [loop = loop.loop] in
      let found = userPages.read(parts, limit: limit)
      loop.execute { reply.value(RequestRouter.answer(found, head, limit)) }
    }
  }

  private static func answer(_ found: UserPages.Found, _ head: HTTPRequestHead, _ limit: Int) -> Answer {
    switch found {
    case .file(let file): file.answer(to: head.headers)
    case .nothing: nothing(for: head)
    case .otherKind:
      nothing(
        for: head,
        "Only these file types are served: html, js, mjs, map, wasm, css, svg, png, jpg, gif, webp, avif, ico, mp3, "
          + "woff2, json, webmanifest and txt.")
    case .tooLong:
      .plainText(.internalServerError, "The file is too large: at most \(limit) bytes are served.", .fileTooLong)
    }
  }
}
