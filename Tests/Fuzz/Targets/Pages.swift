import BindingProtocol

@testable import BindingHub
@testable import BindingWeb

/// What browsers send: texts of pages to a gateway and the hub behind it, and addresses.
extension FuzzTarget {
  static let pageMessages = FuzzTarget(
    name: "page-messages",
    seeds: {
      let texts = FuzzedGateway.seeds.map { Array($0.utf8) }
      return texts.map { InputParts.joined($0) } + [InputParts.joined(texts.map { ($0, false) })]
    },
    run: { bytes in
      var stage = FuzzedGateway()
      for (text, isOther) in InputParts(bytes) {
        if text.isEmpty { stage.wait(isOther ? 11_000 : 400) } else { stage.send(text, isOther) }
        if let finding = stage.finding { return finding }
      }
      stage.wait(2_500)
      return stage.finding
    })

  static let webTargets = FuzzTarget(
    name: "web-targets",
    seeds: {
      ["/", "/form/lamp?code=123456&a=b", "/pages/../%2e%2e/x%C3%A4.html?token=a=b&token", "/bind", "/favicon.ico?#"]
        .map {
          Array($0.utf8)
        }
    },
    run: { bytes in
      guard let target = Target(String(decoding: bytes, as: UTF8.self)) else { return nil }
      _ = Route(path: target.path)
      for name in ["code", "token"] {
        _ = target[name]
        // Where a browser is sent once its credential is taken out of the address.
        guard let left = Target(target.without(name)), left[name] == nil, left.path == target.path else {
          return "an address without its \(name) is another one"
        }
      }
      return nil
    })
}

/// A gateway and a hub's machine on one thread, with two pages.
private struct FuzzedGateway {
  private static let connection: ConnectionID = HubMachine.firstInProcessConnection + 1
  private var gateway: Gateway
  private var hub: HubMachine
  private let store = MemoryStore(logID: 3, epoch: 5 << 32 | 9)
  private var now: UInt64 = 1_000
  private var topics: Set<[UInt8]> = []
  private var isConnected = false
  private(set) var finding: String?

  static let seeds: [String] = {
    let secret = Secret(high: 5, low: 6)
    let identity = Identity(secret: secret, name: "page")
    let digits = Tag(rawValue: secret.high).description + Tag(rawValue: secret.low).description
    return [
      #"{"kind":"hello","lowest":0,"highest":0,"tag":"\#(identity.tag)","secret":"\#(digits)","name":"page","#
        + #""resuming":false,"capabilities":["rescue"]}"#,
      #"{"kind":"join","model":"lamp","epoch":"21474836489","version":0,"unacknowledged":1}"#,
      #"{"kind":"join","prefix":""}"#, #"{"kind":"join","feed":true}"#, #"{"kind":"join","model":"@hub"}"#,
      #"{"kind":"propose","model":"lamp","number":1,"confirmed":0,"operations":[["set","level",0.5],["clear"]],"#
        + #""conditions":[["level","0",0]]}"#,
      #"{"kind":"alive","heartbeat":1,"models":[{"model":"lamp","confirmed":1,"applied":1}]}"#,
      #"{"kind":"ping","token":7}"#, #"{"kind":"leave","model":"lamp"}"#, #"{"kind":"leave"}"#,
    ]
  }()

  init() {
    let birth = HubBirth(logID: 3, epoch: store.epoch, start: 77, tailProven: true)
    hub = HubMachine(
      configuration: HubMachineConfiguration(), birth: birth, time: HubTime(monotonic: 1_000, wall: 500_000),
      epochSeed: 11)
    gateway = Gateway(identity: Identity(secret: Secret(high: 5, low: 5), name: "web"), seed: 7, now: 1_000)
    act { gateway, now, output in
      gateway.tick(now: now, into: &output)
      for page in 1...2 as ClosedRange<UInt64> { gateway.arrived(PageID(page), now: now, into: &output) }
    }
    FuzzedGateway.seeds[0].utf8.withContiguousStorageIfAvailable { send(UnsafeRawBufferPointer($0), false) }
  }

  mutating func send(_ text: UnsafeRawBufferPointer, _ isOther: Bool) {
    act { gateway, now, output in gateway.receive(text, from: PageID(isOther ? 2 : 1), now: now, into: &output) }
  }

  mutating func wait(_ milliseconds: UInt64) {
    now += milliseconds
    actAtHub { hub, time, output in hub.tick(time: time, into: &output) }
    act { gateway, now, output in gateway.tick(now: now, into: &output) }
  }

  private mutating func act(_ body: (inout Gateway, UInt64, inout GatewayOutput) -> Void) {
    var output = GatewayOutput()
    body(&gateway, now, &output)
    gateway.finishDrain(now: now, into: &output)
    var (frames, opens): ([[UInt8]], Bool) = ([], false)
    for action in output.actions {
      switch action {
      case .open: (isConnected, topics, opens) = (false, [], true)
      case .send(let frame): if isConnected { frames.append(frame) }
      case .subscribe(let topic):
        topics.insert(topic)
        actAtHub { hub, time, output in
          topic.withUnsafeBytes { hub.subscribed($0, by: 1, time: time, into: &output) }
        }
      case .unsubscribe(let topic): topics.remove(topic)
      case .sendText(_, let text): if (try? JSON(parsing: text)) == nil { finding = "a page gets what is not JSON" }
      case .end, .endBrowser, .log, .close: break
      }
    }
    if opens {
      isConnected = true
      act { gateway, now, output in gateway.opened(now: now, into: &output) }
    }
    guard !frames.isEmpty else { return }
    actAtHub { hub, time, output in
      for frame in frames {
        frame.withUnsafeBytes { hub.receive($0, on: FuzzedGateway.connection, time: time, into: &output) }
      }
    }
  }

  private mutating func actAtHub(_ body: (inout HubMachine, HubTime, inout HubOutput) -> Void) {
    let time = HubTime(monotonic: now, wall: 499_000 + now)
    var output = HubOutput()
    body(&hub, time, &output)
    hub.finishDrain(time: time, into: &output)
    while !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll()
      guard let results = try? store.append(batches) else {
        finding = "a batch does not follow the last one"
        return
      }
      hub.appended(results, of: batches, time: time, into: &output)
    }
    var frames: [[UInt8]] = []
    output.forEachFrame { destination, frame in
      if destination == .publish
        ? topics.contains(Array(frame.prefix(4))) : destination == .connection(FuzzedGateway.connection)
      {
        frames.append(Array(frame))
      }
    }
    guard !frames.isEmpty else { return }
    act { gateway, now, output in
      for frame in frames { frame.withUnsafeBytes { gateway.receive($0, now: now, into: &output) } }
    }
  }
}
