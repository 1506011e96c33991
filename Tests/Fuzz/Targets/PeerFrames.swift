import BindingHub
import BindingProtocol

/// The frames of peers: each is decoded alone, and all reach a hub with rights. It must trap on nothing, and must not
/// tell a guest what the guest may not read.
extension FuzzTarget {
  static let peerFrames = FuzzTarget(
    name: "peer-frames",
    seeds: {
      let frames = FuzzVectors.frames(toHub: true)
      let single = frames.map { InputParts.joined($0) }
      return single + [
        InputParts.joined(frames.map { ($0, false) }), InputParts.joined(frames.map { ($0, true) }),
        FuzzedHub.conversation(isAdmin: false), FuzzedHub.conversation(isAdmin: true),
      ]
    },
    run: { bytes in
      var hub = FuzzedHub(isSearched: !bytes.contains("marzipan"))
      for (frame, isOther) in InputParts(bytes) {
        if frame.isEmpty {
          hub.wait(isOther ? 11_000 : 400)
          continue
        }
        if let finding = differences(frame) { return finding }
        hub.deliver(frame, isAdmin: isOther)
        if let finding = hub.finding { return finding }
      }
      hub.wait(2_500)
      return hub.finding
    })

  /// What a frame means after it was decoded and encoded again, if that differs.
  private static func differences(_ frame: UnsafeRawBufferPointer) -> String? {
    var reader = WireReader(frame)
    let header = try? PeerHeader(from: &reader)
    let walked = header?.kind == .propose ? proposals(reader) : nil
    guard let (header, message) = try? PeerMessage.decode(frame) else { return nil }
    if message.encode(session: header.session, start: header.start) != Array(frame) {
      return "a \(header.kind) is written otherwise than it was read"
    }
    if case .propose(let read) = message, walked != read.count { return "the cursor reads other proposals" }
    return nil
  }

  /// The number of proposals that the cursor reads; nil: it refuses them.
  private static func proposals(_ reader: WireReader) -> Int? {
    guard var cursor = try? ProposalCursor(reader) else { return nil }
    var (count, bytes) = (0, 0)
    while (try? cursor.next()) == true {
      count += 1
      var (metadata, conditions, operations) = (cursor.metadata, cursor.conditions, cursor.operations)
      while (try? metadata.next()) == true { bytes += metadata.name.count + metadata.value.count }
      while (try? conditions.next()) == true { bytes += conditions.name?.count ?? 0 }
      while (try? operations.next()) == true { bytes += (operations.name?.count ?? 0) + (operations.value?.count ?? 0) }
    }
    return bytes <= reader.frame.count ? count : nil
  }
}

/// A hub in which an administrator has written a model that a guest may not read.
struct FuzzedHub {
  private static let adminConnection: ConnectionID = 1
  private static let guestConnection: ConnectionID = 2
  static let adminSession: SessionID = FuzzVectors.session + 1
  private static let everything = [AccessPattern("*")].compactMap { $0 }
  private static let open = ["lamp", "shop/*", "test"].compactMap { AccessPattern($0) }
  private static let policy = AccessPolicy(
    roles: [
      "staff": AccessRole(
        Dictionary(uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, everything) }), fanout: true,
        recover: true, admin: true),
      "guest": AccessRole([.write: open, .own: open, .present: open, .describe: open, .delete: open], fanout: true),
    ], names: ["ann": ["staff"], "ben": ["guest"]])

  private var machine: HubMachine
  private let store: MemoryStore
  private var now: UInt64 = 1_000
  private let isSearched: Bool
  /// What must not be.
  private(set) var finding: String?

  /// - Parameter isSearched: whether what the guest gets is searched for the secret.
  init(isSearched: Bool) {
    self.isSearched = isSearched
    let birth = HubBirth(logID: 3, epoch: 5 << 32 | 9, start: FuzzVectors.start, tailProven: true)
    var configuration = HubMachineConfiguration()
    configuration.endpoints = [HubEndpoint(request: "ipc:/h", publish: "ipc:/h.pub")]
    machine = HubMachine(
      configuration: configuration, birth: birth, time: HubTime(monotonic: 1_000, wall: 500_000), epochSeed: 11)
    store = MemoryStore(logID: 3, epoch: birth.epoch)
    _ = machine.apply(FuzzedHub.policy)
    machine.identify(FuzzedHub.adminConnection, as: .named("ann", role: nil))
    machine.identify(FuzzedHub.guestConnection, as: .named("ben", role: nil))
    for message in FuzzedHub.beginning { send(message, isAdmin: true) }
    wait(1_100)
    for number in 1...2 as ClosedRange<ProposalNumber> { send(FuzzedHub.secret(number), isAdmin: true) }
    send(FuzzedHub.hello("ben", 2), isAdmin: false)
    send(.join([Join(request: 1, model: "lamp")]), isAdmin: false)
    wait(1_100)
  }

  private static func hello(_ name: String, _ number: UInt64) -> PeerMessage {
    let identity = Identity(secret: Secret(high: number, low: number), name: name)
    return .hello(
      Hello(
        identity: identity, leaseMilliseconds: 60_000,
        capabilities: [Capability.users, Capability.rights, Capability.recovery, "applied", "ephemeral"]))
  }

  private static let beginning: [PeerMessage] = [
    hello("ann", 1),
    .join([Join(request: 1, model: "secret/plan"), Join(request: 2, model: Names.ephemeral("secret/plan"))]),
  ]

  private static func secret(_ number: ProposalNumber) -> PeerMessage {
    .propose([
      NumberedProposal(
        topic: Topics.firstModel, number: number,
        operations: [
          WireOperation(verb: .set, field: .name("codeword"), value: FieldValue(bytes: Array("\"marzipan\"".utf8)))
        ])
    ])
  }

  /// A conversation that touches much of the hub, as a seed.
  static func conversation(isAdmin: Bool) -> [UInt8] {
    let set = WireOperation(verb: .set, field: .name("level"), value: FieldValue(bytes: Array("1".utf8)))
    let add = WireOperation(verb: .add, field: .name("count"), value: FieldValue(bytes: Array("2".utf8)))
    let lamp = Topics.firstModel + 2
    let messages: [PeerMessage] = [
      .join([
        Join(request: 2, model: "shop/till"), Join(request: 3, model: "secret/plan"), Join(request: 4, prefix: ""),
      ]),
      .propose([NumberedProposal(topic: lamp, number: 1, operations: [set, add])]),
      .propose([NumberedProposal(topic: Topics.firstModel, number: 1, operations: [set])]), .askHeads,
      .status, .verify(Verify(timeoutMilliseconds: 50, names: ["secret/"])), .ping(Ping(token: 1)),
      .join([Join(request: 5, model: Names.ephemeral("lamp"))]),
      .awaitApplied(
        AwaitApplied(request: 6, topic: Topics.firstModel, epoch: 5 << 32 | 9, version: 1, timeoutMilliseconds: 9)),
      .leave(Leave()),
    ]
    let session = isAdmin ? adminSession : FuzzVectors.session
    return InputParts.joined(messages.map { ($0.encode(session: session, start: FuzzVectors.start), isAdmin) })
  }

  private mutating func send(_ message: PeerMessage, isAdmin: Bool) {
    let session = isAdmin ? FuzzedHub.adminSession : FuzzVectors.session
    message.encode(session: session, start: FuzzVectors.start).withUnsafeBytes { deliver($0, isAdmin: isAdmin) }
  }

  /// Delivers a frame, stores what is decided, and searches what goes out.
  mutating func deliver(_ frame: UnsafeRawBufferPointer, isAdmin: Bool) {
    let connection = isAdmin ? FuzzedHub.adminConnection : FuzzedHub.guestConnection
    act { machine, time, output in machine.receive(frame, on: connection, time: time, into: &output) }
  }

  /// Lets time pass.
  mutating func wait(_ milliseconds: UInt64) {
    now += milliseconds
    act { machine, time, output in machine.tick(time: time, into: &output) }
  }

  private mutating func act(_ body: (inout HubMachine, HubTime, inout HubOutput) -> Void) {
    let time = HubTime(monotonic: now, wall: 499_000 + now)
    var output = HubOutput()
    body(&machine, time, &output)
    machine.finishDrain(time: time, into: &output)
    while !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll()
      do throws(StoreError) {
        machine.appended(try store.append(batches), of: batches, time: time, into: &output)
      } catch {
        finding = "a batch does not follow the last one: \(error)"
        return
      }
    }
    var drains = 0
    while machine.isStreaming, drains < 1_000 {
      machine.finishDrain(time: time, into: &output)
      drains += 1
    }
    if let failure = output.failure { finding = "\(failure)" }
    search(output)
  }

  private mutating func search(_ output: HubOutput) {
    var found: String?
    output.forEachFrame { destination, frame in
      if (try? HubMessage.decode(frame)) == nil { found = "the hub sends a frame that breaks the grammar" }
      guard isSearched, destination != .connection(FuzzedHub.adminConnection) else { return }
      if frame.contains("marzipan") { found = "the guest gets a value that it may not read" }
    }
    finding = finding ?? found
  }
}
