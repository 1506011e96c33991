import BindingPeer
import BindingProtocol

/// The effects of a session in one drain, by kind.
struct Drain {
  var unreadableFrames = 0
  var updates: [ModelUpdate] = []
  var settled: [(id: WriteID, outcome: Outcome)] = []
  var retries: [(id: WriteID, code: RetryReason)] = []
  var notices: [Notice] = []
  var phases: [Phase] = []
  var sent: [PeerMessage] = []
  var pauses: [UInt64] = []
  var subscribed: [Topic] = []
  var unsubscribed: [Topic] = []
  var listens: [[UInt8]] = []
  var questions: [(WriteID, MergeQuestion)] = []
  var announced: [String] = []
  var listed: [String] = []
  var pongs: [UInt64] = []
  var entries: [JournalEntry] = []
  var approvalRequests: [ApprovalRequest] = []
  var past: [PastQuestion] = []
  var barriers: [(id: BarrierID, end: BarrierEnd)] = []
  var pages: [(id: HistoryID, end: HistoryEnd)] = []
  var learned: [AnnouncedKeys] = []
  var isClosed = false
  var helloSession: SessionID?

  init(_ effects: PeerEffects) {
    entries = effects.journal
    for action in effects.link { add(action) }
    updates = effects.updates
    for report in effects.outcomes { add(report) }
    for question in effects.questions {
      switch question {
      case .merge(let id, _, let question): questions.append((id, question))
      case .approve(_, let request): approvalRequests.append(request)
      case .past(_, let question): past.append(question)
      }
    }
    for event in effects.events { add(event) }
  }

  private mutating func add(_ action: LinkAction) {
    switch action {
    case .open(let pause): pauses.append(pause)
    case .send(let frame): add(frame)
    case .listen(let topic, _): listens.append(topic)
    case .subscribe(let topic): subscribed.append(topic)
    case .unsubscribe(let topic): unsubscribed.append(topic)
    case .learn(let keys): learned.append(keys)
    case .remember: break
    case .close: isClosed = true
    }
  }

  private mutating func add(_ report: WriteReport) {
    switch report {
    case .settled(let id, _, let outcome): settled.append((id, outcome))
    case .retryLater(let id, _, let code): retries.append((id, code))
    }
  }

  private mutating func add(_ event: SessionEvent) {
    switch event {
    case .announced(_, let model, _, _): announced.append(model)
    case .listed(let prefix): listed.append(prefix)
    case .phase(let phase): phases.append(phase)
    case .notice(let notice): notices.append(notice)
    case .pong(let token): pongs.append(token)
    case .awaited(let id, let end): barriers.append((id, end))
    case .past(let id, let end): pages.append((id, end))
    }
  }

  private mutating func add(_ frame: [UInt8]) {
    guard let (header, message) = try? PeerMessage.decode(frame) else {
      unreadableFrames += 1
      return
    }
    if case .hello = message { helloSession = header.session }
    sent.append(message)
  }

  var joins: [Join] { sent.flatMap { message -> [Join] in if case .join(let joins) = message { joins } else { [] } } }
  /// The first join; `none` if there is no join, which no expectation matches.
  var join: Join { joins.first ?? Join(request: 0, model: "none") }
  var request: UInt32 { join.request }
  var proposals: [NumberedProposal] {
    sent.flatMap { message -> [NumberedProposal] in if case .propose(let list) = message { list } else { [] } }
  }
  var numbers: [ProposalNumber] { proposals.map(\.number) }
  var proposeFrames: Int { sent.count { $0.kind == .propose } }
  var offers: [Offer] { sent.compactMap { if case .offer(let offer) = $0 { offer } else { nil } } }
  var alives: [Alive] { sent.compactMap { if case .alive(let alive) = $0 { alive } else { nil } } }
  var hellos: [Hello] { sent.compactMap { if case .hello(let hello) = $0 { hello } else { nil } } }
  var asksHeads: Bool { sent.contains(.askHeads) }
  var outcomes: [Outcome] { settled.map(\.outcome) }
  /// The changes of all updates, as `field old new`.
  var changes: [String] {
    updates.flatMap(\.changes).map { "\($0.field) \($0.old?.description ?? "-") \($0.new?.description ?? "-")" }
  }
}
