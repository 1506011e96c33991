import BindingWire
import Dispatch
import NIOCore
import NIOHTTP1

/// Answers requests, on the gateway's event loop.
struct FrontDesk {
  let door: FrontDoor
  let userPages: UserPages?
  let loop: GatewayLoop

  /// Answers, at once or when the disk or the hub has; always on the event loop.
  func answer(_ head: HTTPRequestHead, at local: SocketAddress?, _ respond: @escaping (Answer) -> Void) {
    switch look(at: head, local) {
    case .failure(let refused): respond(refused.answer)
    case .success(.page(let name)):
      respond(StoredPages.all[name].map { $0.answer(to: head.headers) } ?? FrontDesk.nothing(at: head.uri))
    case .success(.userPage(let parts)): answer(userPage: parts, head, respond)
    case .success(.socket): respond(noSocket(head, local))
    case .success(.health): respond(.says(.ok, "ok"))
    case .success(.readiness):
      respond(
        loop.isLive
          ? .says(.ok, "ok") : .says(.serviceUnavailable, "The hub has not let this gateway in yet: ask again."))
    case .success(.status): loop.questions.ask { [loop] in respond(Reports.status(of: loop, hub: $0)) }
    case .success(.metrics): loop.questions.ask { [loop] in respond(Reports.metrics(of: loop, hub: $0)) }
    }
  }

  /// Whether a WebSocket is opened for this request; if not it is answered as any other.
  func opensSocket(_ head: HTTPRequestHead, at local: SocketAddress?) -> Bool {
    guard case .success(.socket) = look(at: head, local), head.method == .GET else { return false }
    return isFromHere(head, local) && head.headers["sec-websocket-key"].first?.utf8.count == 24
  }

  // MARK: Who and what

  private struct Refused: Error {
    let answer: Answer
  }

  private func look(at head: HTTPRequestHead, _ local: SocketAddress?) -> Result<Route, Refused> {
    func refuse(_ answer: Answer) -> Result<Route, Refused> { .failure(Refused(answer: answer)) }
    let hosts = head.headers["host"]
    guard hosts.count == 1, let target = Target(head.uri) else {
      return refuse(
        .closing(.badRequest, "Ask for a path, such as GET /, and name one host in 'Host'.", .badRequest))
    }
    guard door.isOurs(host: hosts[0], local: local) else {
      return refuse(
        .closing(.misdirectedRequest, "This gateway is not '\(hosts[0])': it is \(door.address).", .foreignHost))
    }
    guard head.method == .GET || head.method == .HEAD else {
      var answer = Answer.closing(.methodNotAllowed, "Everything here is read, with GET or HEAD.", .otherMethod)
      answer.headers.append((name: "Allow", value: "GET, HEAD"))
      return refuse(answer)
    }
    let route = Route(path: target.path)
    if let route, route.isOpen { return .success(route) }
    if let token = door.token, let shown = target["token"] {
      return refuse(door.isToken(shown) ? letIn(token, to: target) : FrontDesk.unknown)
    }
    guard door.isKnown(head.headers) else { return refuse(FrontDesk.unknown) }
    guard let route else { return refuse(FrontDesk.nothing(at: head.uri)) }
    return .success(route)
  }

  /// The token goes from the address, where it would be seen and kept, to a cookie.
  private func letIn(_ token: String, to target: Target) -> Answer {
    var answer = Answer.says(.seeOther, "Come in.")
    answer.headers += [("Location", target.without("token")), ("Set-Cookie", door.cookie(token))]
    return answer
  }

  private static let unknown: Answer = {
    var answer = Answer.says(
      .unauthorized,
      "This gateway asks for its token: open the address that 'bindhub serve --web' printed when it was started, "
        + "or send 'Authorization: Bearer TOKEN'.", .noToken)
    answer.headers.append((name: "WWW-Authenticate", value: "Bearer realm=\"bindbus\""))
    return answer
  }()

  private static func nothing(at uri: String) -> Answer {
    .says(
      .notFound, "There is nothing at \(uri.prefix(200)): the dashboard is at /, a model's form at /form/MODEL.",
      .notFound)
  }

  // MARK: Sockets

  /// Every page of a browser names the site that it comes from; a program need not, if it shows the token itself.
  private func isFromHere(_ head: HTTPRequestHead, _ local: SocketAddress?) -> Bool {
    let origins = head.headers["origin"]
    return origins.isEmpty
      ? door.showsBearer(head.headers) : origins.count == 1 && door.isOurs(origin: origins[0], local: local)
  }

  /// Why a request for a WebSocket did not open one.
  private func noSocket(_ head: HTTPRequestHead, _ local: SocketAddress?) -> Answer {
    guard isFromHere(head, local) else {
      return .closing(
        .forbidden, "Only pages of this gateway may open its WebSocket; a program sends 'Authorization: Bearer TOKEN'.",
        .foreignOrigin)
    }
    var answer = Answer.closing(
      .upgradeRequired, "Here is a WebSocket: open it with a handshake of version 13 (RFC 6455).", .noHandshake)
    answer.headers += [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
    return answer
  }

  // MARK: The user's pages

  private func answer(userPage parts: [String], _ head: HTTPRequestHead, _ respond: @escaping (Answer) -> Void) {
    guard let userPages else {
      return respond(
        .says(.notFound, "No folder of pages is served here: start with  bindhub serve --web --pages FOLDER", .notFound)
      )
    }
    let reply = NIOLoopBound(respond, eventLoop: loop.loop)
    let limit = loop.options.limits.fileBytes
    DispatchQueue.global().async { [loop = loop.loop] in
      let found = userPages.read(parts, limit: limit)
      loop.execute { reply.value(FrontDesk.answer(found, head, limit)) }
    }
  }

  private static func answer(_ found: UserPages.Found, _ head: HTTPRequestHead, _ limit: Int) -> Answer {
    switch found {
    case .file(let file): file.answer(to: head.headers)
    case .nothing: nothing(at: head.uri)
    case .otherKind:
      .says(.notFound, "Only html, js, css, svg, png, ico, woff2, json and txt are served from there.", .notFound)
    case .tooLong: .says(.internalServerError, "A file of pages has at most \(limit) bytes.", .fileTooLong)
    }
  }
}
