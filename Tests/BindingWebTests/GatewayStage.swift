import BindingHub
import BindingProtocol
import BindingWeb
import Testing

/// A gateway and a hub's machine on one thread, without sockets. Messages between them arrive immediately; a page
/// is the list of texts that it received.
struct GatewayStage {
  /// One within the hub's process.
  private static let connection: ConnectionID = 1 << 63 + 1

  private(set) var gateway: Gateway
  private var hub: HubMachine
  private let store: MemoryStore
  private(set) var now: UInt64 = 1_000
  private(set) var isConnected = false
  private var topics: Set<[UInt8]> = []
  /// The texts that each page received and `take` has not returned yet.
  private var texts: [PageID: [JSON]] = [:]
  private(set) var ended: [PageID: UInt16] = [:]
  private(set) var pauses: [UInt64] = []
  private(set) var endedBrowsers: [String] = []
  /// Whether the hub's commits are lost on the way to the gateway.
  var losesCommits = false
  /// Whether the hub is of a release that does not know for whom a hello is.
  var isOld = false
  /// All that each page was ever sent.
  private(set) var sent: [PageID: [String]] = [:]

  init(
    _ configure: (inout GatewayOptions) -> Void = { _ in },
    hub configureHub: (inout HubMachineConfiguration) -> Void = { _ in }
  ) {
    var options = GatewayOptions()
    configure(&options)
    let identity = Identity(secret: Secret(high: 5, low: 5), name: "web")
    gateway = Gateway(identity: identity, seed: 7, options: options, now: 1_000)
    (hub, store) = GatewayStage.newHub(configureHub, log: 3, start: 77)
    act { gateway, now, output in gateway.tick(now: now, into: &output) }
  }

  private static func newHub(
    _ configure: (inout HubMachineConfiguration) -> Void, log: LogID, start: StartNumber
  ) -> (HubMachine, MemoryStore) {
    var configuration = HubMachineConfiguration()
    configure(&configuration)
    let birth = HubBirth(logID: log, epoch: 5 << 32 | UInt64(start), start: start, tailProven: true)
    let time = HubTime(monotonic: 1_000, wall: 500_000)
    return (
      HubMachine(configuration: configuration, birth: birth, time: time, epochSeed: 11),
      MemoryStore(logID: log, epoch: birth.epoch)
    )
  }

  /// A hub with members, to whose other connection everything is allowed.
  init(_ policy: AccessPolicy, _ members: HubMembers, _ configure: (inout GatewayOptions) -> Void = { _ in }) {
    self.init(configure)
    apply(policy)
    apply(members)
    actAtHub { hub, _, _ in hub.identify(9, as: .owner(name: nil)) }
  }

  mutating func apply(_ policy: AccessPolicy) { actAtHub { hub, _, _ in _ = hub.apply(policy) } }
  mutating func apply(_ members: HubMembers) { actAtHub { hub, _, _ in hub.apply(members) } }

  func knows(_ model: String) -> Bool { hub.topic(of: model) != nil }
  func topic(of model: String) -> Topic { hub.topic(of: model) ?? 0 }

  // MARK: Events

  /// Performs one input of the gateway and everything that follows from it.
  mutating func act(_ body: (inout Gateway, UInt64, inout GatewayOutput) -> Void) {
    var output = GatewayOutput()
    body(&gateway, now, &output)
    gateway.finishDrain(now: now, into: &output)
    carryOut(output.actions)
  }

  private mutating func carryOut(_ actions: [GatewayAction]) {
    var toHub: [[UInt8]] = []
    var opens = false
    for action in actions {
      switch action {
      case .open(let pause):
        pauses.append(pause)
        (isConnected, topics, opens) = (false, [], true)
      case .send(let frame): if isConnected { toHub.append(isOld ? GatewayStage.older(frame) : frame) }
      case .subscribe(let topic):
        topics.insert(topic)
        actAtHub { hub, time, output in
          topic.withUnsafeBytes { hub.subscribed($0, by: GatewayStage.connection, time: time, into: &output) }
        }
      case .unsubscribe(let topic):
        topics.remove(topic)
        actAtHub { hub, time, output in
          topic.withUnsafeBytes { hub.unsubscribed($0, by: GatewayStage.connection, time: time, into: &output) }
        }
      case .sendText(let page, let text):
        sent[page, default: []].append(String(decoding: text, as: UTF8.self))
        do { texts[page, default: []].append(try JSON(parsing: text)) } catch { Issue.record("\(error)") }
      case .end(let page, let code, _): ended[page] = code
      case .endBrowser(let session): endedBrowsers.append(session)
      case .log, .close: break
      }
    }
    if opens {
      isConnected = true
      act { gateway, now, output in gateway.opened(now: now, into: &output) }
    }
    actAtHub { hub, time, output in
      for frame in toHub {
        frame.withUnsafeBytes { hub.receive($0, on: GatewayStage.connection, time: time, into: &output) }
      }
    }
  }

  /// A hello without what an old hub does not read.
  private static func older(_ frame: [UInt8]) -> [UInt8] {
    frame.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      guard let header = try? PeerHeader(from: &reader), header.kind == .hello, var hello = try? Hello(from: &reader)
      else { return frame }
      hello.capabilities.removeAll { Representation(capability: $0) != nil }
      return PeerMessage.hello(hello).encode(session: header.session, start: header.start)
    }
  }

  /// Performs one input of the hub, and delivers its frames to the gateway.
  private mutating func actAtHub(_ body: (inout HubMachine, HubTime, inout HubOutput) -> Void) {
    let time = HubTime(monotonic: now, wall: 499_000 + now)
    var output = HubOutput()
    body(&hub, time, &output)
    hub.finishDrain(time: time, into: &output)
    while !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll()
      do {
        hub.appended(try store.append(batches), of: batches, time: time, into: &output)
      } catch { Issue.record("\(error)") }
    }
    readHistory(&output)
    while hub.isStreaming {
      hub.finishDrain(time: time, into: &output)
      readHistory(&output)
    }
    var frames: [[UInt8]] = []
    let (subscribed, loses) = (topics, losesCommits)
    output.forEachFrame { destination, frame in
      let isCommits = frame[4] == HubMessageKind.commits.rawValue
      if destination == .publish
        ? subscribed.contains(Array(frame.prefix(4))) && !(loses && isCommits)
        : destination == .connection(GatewayStage.connection)
      {
        frames.append(Array(frame))
      }
    }
    guard !frames.isEmpty else { return }
    act { gateway, now, output in
      for frame in frames { frame.withUnsafeBytes { gateway.receive($0, now: now, into: &output) } }
    }
  }

  private mutating func readHistory(_ output: inout HubOutput) {
    guard let query = output.history else { return }
    output.history = nil
    hub.answered(query, store.history(query).result, into: &output)
  }

  /// Advances the time in steps of 250 ms.
  mutating func wait(_ milliseconds: UInt64) {
    for _ in 0..<(milliseconds / 250) {
      now += 250
      actAtHub { hub, time, output in hub.tick(time: time, into: &output) }
      act { gateway, now, output in gateway.tick(now: now, into: &output) }
    }
  }

  mutating func loseHub() { act { gateway, now, output in gateway.lost(now: now, into: &output) } }

  /// Sends messages of another peer directly to the hub.
  mutating func other(_ messages: [PeerMessage], session: SessionID = 99) {
    actAtHub { hub, time, output in
      for message in messages {
        message.encode(session: session, start: 77).withUnsafeBytes {
          hub.receive($0, on: 9, time: time, into: &output)
        }
      }
    }
  }

  /// Another peer joins a model. It can then propose for the topic, but receives none of its messages.
  mutating func otherJoins(_ model: String) {
    let identity = Identity(secret: Secret(high: 1, low: 1), name: "desk")
    other([.hello(Hello(identity: identity)), .join([Join(request: 1, model: model)])])
    wait(1_250)
  }

  // MARK: Pages

  mutating func arrive(_ number: UInt64, for member: PageMember? = nil) -> PageID {
    let page = PageID(number)
    act { gateway, now, output in gateway.arrived(page, for: member, now: now, into: &output) }
    return page
  }

  /// Returns a member's page that has arrived and said hello.
  mutating func member(_ number: UInt64, _ name: String, role: String? = nil) -> PageID {
    let page = arrive(number, for: PageMember(session: "s\(number)", name: name, role: role))
    hello(page, tag: number)
    return page
  }

  mutating func send(_ page: PageID, _ text: String) { send(page, [text]) }

  /// Sends texts that arrive together.
  mutating func send(_ page: PageID, _ texts: [String]) {
    act { gateway, now, output in
      for var text in texts {
        text.withUTF8 { gateway.receive(UnsafeRawBufferPointer($0), from: page, now: now, into: &output) }
      }
    }
  }

  /// Returns a page that has arrived and been welcomed.
  mutating func welcomed(_ number: UInt64, resuming: Bool = false) -> PageID {
    let page = arrive(number)
    hello(page, tag: number, resuming: resuming)
    return page
  }

  mutating func hello(_ page: PageID, tag: UInt64, resuming: Bool = false, opening: String? = nil) {
    send(page, GatewayStage.hello(GatewayStage.identity(tag), resuming: resuming, opening: opening))
  }

  /// The identity of the page with this number.
  static func identity(_ number: UInt64) -> Identity {
    Identity(secret: Secret(high: number, low: number), name: "page\(number)")
  }

  static func hello(_ identity: Identity, resuming: Bool = false, opening: String? = nil) -> String {
    let capabilities = opening.map { #","capabilities":["\#($0)"]"# } ?? ""
    let secret = Tag(rawValue: identity.secret.high).description + Tag(rawValue: identity.secret.low).description
    return #"{"kind":"hello","tag":"\#(identity.tag)","secret":"\#(secret)","name":"\#(identity.name)","#
      + #""resuming":\#(resuming)\#(capabilities)}"#
  }

  mutating func propose(_ page: PageID, _ model: String, _ number: Int, _ operations: String, _ more: String = "") {
    send(
      page, #"{"kind":"propose","model":"\#(model)","number":\#(number),"operations":\#(operations)\#(more)}"#)
  }

  mutating func fill(_ page: PageID) { gateway.isFull(page) }

  mutating func makeRoom(_ page: PageID) {
    act { gateway, now, output in gateway.hasRoom(page, now: now, into: &output) }
  }

  mutating func leave(_ page: PageID) {
    act { gateway, now, output in gateway.gone(page, now: now, into: &output) }
  }

  /// Returns and removes the texts of one kind that a page has received.
  mutating func take(_ page: PageID, _ kind: String) -> [JSON] {
    let all = texts[page] ?? []
    texts[page] = all.filter { $0["kind"]?.string != kind }
    return all.filter { $0["kind"]?.string == kind }
  }
}
