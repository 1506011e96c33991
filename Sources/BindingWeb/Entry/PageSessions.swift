import BindingKeys
import BindingProtocol
import Dispatch
import NIOCore

/// The browsers that invitations have let in, as the hub's list of members has them. The file is read and written on a
/// queue of its own, because a slow disk must not delay the pages; what was read belongs to the event loop.
final class PageSessions: @unchecked Sendable {  // SAFETY: `file` is used on `queue` only, all else on `loop` only
  private let loop: any EventLoop
  private let queue = DispatchQueue(label: "bindbus.pages")
  private var file: MembersFile
  private var members: Members
  /// The browsers that are in, by their members' names.
  private(set) var browsers: [PageBrowser]
  private var polling: RepeatedTask?
  private var hasEnded = false
  private let log: @Sendable (String) -> Void
  private var problem: String?

  /// The time between two looks at the file: a browser is shut out within a heartbeat.
  private static let pollMilliseconds: Int64 = 250

  /// Reads the list of members.
  init(_ keys: HubKeys, on loop: any EventLoop, log: @escaping @Sendable (String) -> Void) throws(KeyError) {
    self.loop = loop
    self.log = log
    file = try MembersFile(at: keys.membersPath)
    members = file.members
    browsers = PageSessions.list(file.members)
  }

  private static func list(_ members: Members) -> [PageBrowser] {
    members.pages.sessions.map { id, session in
      PageBrowser(
        member: PageMember(session: id, name: session.name, role: session.role), label: session.label,
        since: session.since, until: session.until)
    }.filter { WebEntry.now < $0.until }
      .sorted { ($0.member.name, $0.since, $0.member.session) < ($1.member.name, $1.since, $1.member.session) }
  }

  /// Looks at the file again and again. `looked` is called on the event loop after each time.
  func start(_ looked: @escaping @Sendable () -> Void) {
    let pause = TimeAmount.milliseconds(PageSessions.pollMilliseconds)
    polling = loop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { _ in
      self.use({ file throws(KeyError) in try file.refresh() }, then: { _ in looked() })
    }
  }

  /// Waits for what is being read or written: afterwards the event loop may end.
  func end() {
    polling?.cancel()
    hasEnded = true
    queue.sync {}
  }

  // MARK: Who is in

  /// For whom a browser speaks; nil: it is not let in.
  /// - Parameter shown: the value of its cookie.
  func member(showing shown: some StringProtocol) -> PageMember? {
    let parts = shown.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == PageSessions.mark, parts[2].utf8.count == PageSecret.digits,
      let session = members.pages.sessions[String(parts[1])],
      WebKey.isSame(PageSecret.hash(String(parts[2])), session.secretHash),
      end(of: String(parts[1])) == nil
    else { return nil }
    return PageMember(session: String(parts[1]), name: session.name, role: session.role)
  }

  /// Why a session is over, for the person at the browser, and the code with which its pages close; nil: it is not.
  func end(of id: String) -> (code: UInt16, reason: String)? {
    guard let session = members.pages.sessions[id] else { return (4006, "this browser was signed out") }
    if WebEntry.now >= session.until { return (4006, "this browser was signed in 30 days ago") }
    // A page that is kept out for a time is to come back by itself.
    guard members.kicks[session.name]?.counts(at: WebEntry.now) == true else { return nil }
    return (1012, "\(session.name) is kept out for a time")
  }

  /// Marks the cookie of a member's browser, apart from those of the hub's own pages.
  private static let mark = "page"

  // MARK: Coming in

  /// Looks up an invitation, and passes on whom it is for; nil: it cannot be used.
  func invitation(_ code: String, _ found: @escaping (String?) -> Void) {
    use(
      { file throws(KeyError) in
        try file.refresh()
        return (try? file.members.pages.invitation(code: code, at: WebEntry.now))?.1.name
      },
      then: { found((try? $0.get()) ?? nil) })
  }

  /// Lets a browser in, and passes on the value of its cookie once the session is on disk; nil: the code cannot be
  /// used.
  func admit(_ code: String, label: String, _ admitted: @escaping (String?) -> Void) {
    let (id, secret) = (PageSecret.randomID(), PageSecret.random())
    use(
      { file throws(KeyError) in
        _ = try file.append { members throws(MemberError) in
          try members.pages.admission(code: code, of: label, as: id, secret: secret, at: WebEntry.now)
        }
      },
      then: { result in
        if case .success = result { admitted("\(PageSessions.mark)-\(id)-\(secret)") } else { admitted(nil) }
      })
  }

  /// Lets a browser in no longer. `done` is called once that is on disk, or cannot be.
  func shutOut(_ session: String, _ done: @escaping () -> Void) {
    use(
      { file throws(KeyError) in
        _ = try file.append { _ throws(MemberError) in
          MemberRecord(time: WebEntry.now, decision: .endPage(id: session))
        }
      },
      then: { _ in done() })
  }

  // MARK: The file

  private func use<Value: Sendable>(
    _ body: @escaping @Sendable (inout MembersFile) throws(KeyError) -> Value,
    then done: @escaping (Result<Value, KeyError>) -> Void
  ) {
    guard !hasEnded else { return }
    let done = NIOLoopBound(done, eventLoop: loop)
    queue.async {
      let result = Result { () throws(KeyError) in try body(&self.file) }
      let members = self.file.members
      self.loop.execute {
        if members.pages != self.members.pages { self.browsers = PageSessions.list(members) }
        self.members = members
        self.report(result)
        done.value(result)
      }
    }
  }

  /// Tells the log once what is wrong with the file; what was read before stays.
  private func report(_ result: Result<some Sendable, KeyError>) {
    var problem: String?
    if case .failure(let error) = result {
      if case .member = error { return }
      problem = error.description
    }
    defer { self.problem = problem }
    if let problem, problem != self.problem { log(problem) }
  }
}

/// What a browser calls itself, in a few words.
enum BrowserName {
  private static let browsers = [
    ("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
  ]
  private static let systems = [
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
  ]

  /// - Parameter text: the header `User-Agent`, which says what it likes.
  static func of(userAgent text: String) -> String {
    let browser = browsers.first { text.contains($0.0) }?.1
    let system = systems.first { text.contains($0.0) }?.1
    guard let browser else { return text.isEmpty ? "a browser" : Names.fittingPeer(String(text.prefix(64))) }
    return browser + (system.map { " on \($0)" } ?? "")
  }
}
