import BindingProtocol

/// The source of docs/reference/vectors/wire/, by file name.
enum GoodVectors {
  static let session: SessionID = 0x8877_6655_4433_2211
  static let start: StartNumber = 0xA1B2_C3D4
  static let epoch: Epoch = 0xE0E1_E2E3_E4E5_E6E7
  static let lamp: Topic = Topics.firstModel
  static let kiosk: Topic = Topics.firstModel + 1
  static let now: UInt64 = 1_790_000_000_123
  static let kitchen = Origin(tag: Tag(rawValue: 0x0807_0605_0403_0201), name: "kitchen")
  static let member = Origin(tag: kitchen.tag, name: "kitchen", user: "anna")
  static let identity = Identity(secret: secret, name: kitchen.name)
  static let driver = Origin(tag: Tag(rawValue: 0xF8F7_F6F5_F4F3_F2F1), name: "Gerät ☀️")
  static let secret = Secret(high: 0x1716_1514_1312_1110, low: 0x1F1E_1D1C_1B1A_1918)

  static func json(_ text: String) -> FieldValue { FieldValue(bytes: Array(text.utf8)) }

  static func up(_ message: PeerMessage) -> Vector {
    let hasStart = ![.hello, .status, .verify, .drain].contains(message.kind)
    return .toHub(message, session: session, start: hasStart ? start : 0)
  }

  static func down(_ message: HubMessage, topic: Topic = lamp) -> Vector {
    .toPeer(message, topic: message.kind.fixedTopic ?? topic, start: start)
  }

  static var all: [(file: String, vector: Vector)] {
    sessions + joining + commits + catchups + proposals + outcomes + appliedVersions + past
  }

  private static var sessions: [(file: String, vector: Vector)] {
    let other = Identity(secret: Secret(high: secret.low, low: secret.high), name: driver.name)
    var limits = Limits()
    limits.maxValueBytes = 1_024
    limits.routedQueueBytes = 9_007_199_254_740_993
    let welcome = Welcome(
      session: session, logID: 0x0102_0304_0506_0708, epoch: epoch, knewIdentity: true, mayAskOffers: true,
      durability: .process, heartbeatMilliseconds: 1_000, leaseMilliseconds: 10_000, now: now, hub: "hub",
      endpoints: [
        HubEndpoint(request: "tcp:7877", publish: "tcp:7878"),
        HubEndpoint(request: "ipc:/run/user/1000/bindhub/hub.sock", publish: "ipc:/run/user/1000/bindhub/publish.sock"),
      ], capabilities: ["trace"])
    return [
      ("hello", up(.hello(Hello(identity: identity)))),
      (
        "hello-resuming",
        up(
          .hello(
            Hello(highest: 3, identity: other, isResuming: true, leaseMilliseconds: 5_000, capabilities: ["a", "b"])))
      ),
      ("welcome", down(.welcome(welcome))),
      (
        "welcome-other-limits",
        down(
          .welcome(
            Welcome(
              session: session, protocolNumber: 0, logID: UInt64.max, epoch: 1, durability: .disk,
              heartbeatMilliseconds: 250,
              leaseMilliseconds: 3_000, now: 0, hub: "", limits: limits, endpoints: [])))
      ),
      ("alive", up(.alive(Alive(heartbeat: 7)))),
      (
        "alive-models",
        up(
          .alive(
            Alive(
              heartbeat: 8,
              entries: [
                AliveEntry(topic: lamp, confirmed: 3, applied: 12),
                AliveEntry(topic: kiosk, confirmed: 0, applied: 9_007_199_254_740_993),
              ])))
      ),
      ("leave", up(.leave(Leave()))),
      ("leave-models", up(.leave(Leave(topics: [lamp, kiosk])))),
      ("ask-heads", up(.askHeads)),
      ("ping", up(.ping(Ping(token: 0xFFFF_FFFF_FFFF_FFFE)))),
      ("pong", down(.pong(Pong(session: session, token: 0xFFFF_FFFF_FFFF_FFFE)))),
      ("error", down(.error(ErrorMessage(session: session, code: .fenced, isFatal: true, text: "a later hello")))),
      ("error-unread", down(.error(ErrorMessage(session: 0, code: .malformed, isFatal: false, text: "")))),
      ("status", up(.status)),
      ("status-without-session", .toHub(.status, session: 0, start: 0)),
      (
        "status-report",
        down(.statusReport(StatusReport(session: 0, json: json("{\"sessions\":3,\"refused\":{\"loop\":1}}"))))
      ),
      ("heartbeat", down(.heartbeat(Heartbeat(epoch: epoch, number: 8, now: now)))),
    ]
  }

  private static var joining: [(file: String, vector: Vector)] {
    let field = OfferedField(
      name: "level", version: 11, origin: kitchen, number: 4, time: now - 500, value: json("0.8"))
    let gone = OfferedField(name: "old", version: 12, origin: driver, number: 1, time: now, value: nil)
    return [
      ("join", up(.join([Join(request: 1, model: "lamp")]))),
      ("join-ephemeral", up(.join([Join(request: 5, model: "@ephemeral/lamp")]))),
      (
        "topic-ephemeral",
        down(.topic(TopicAssigned(session: session, request: 5, topic: lamp + 1, model: "@ephemeral/lamp")))
      ),
      (
        "approve",
        down(
          .approve(
            ApprovalRequest(
              session: session, topic: lamp, token: 77, origin: kitchen,
              fields: [
                ApprovalField(name: "level", value: json("0.9")), ApprovalField(name: "old", value: nil),
              ])))
      ),
      ("approval", up(.approval(Approval(topic: lamp, token: 77, isAccepted: true)))),
      ("approval-no", up(.approval(Approval(topic: lamp, token: 78, isAccepted: false, text: "not at night")))),
      (
        "join-several",
        up(
          .join([
            Join(request: 2, model: "shop/kiosk-3", epoch: epoch, version: 41, namesKnown: 3, unacknowledged: 5),
            Join(request: 3, prefix: "shop/"), Join(request: 4, prefix: ""),
          ]))
      ),
      (
        "topic", down(.topic(TopicAssigned(session: session, request: 1, topic: lamp, model: "lamp")))
      ),
      (
        "rights",
        down(
          .rights(
            SessionRights(
              session: session, topic: lamp, mayOwn: false, mayBePresent: true, mayDescribe: true,
              write: ["level", "hall-*"].compactMap { NamePattern($0) }, delete: [.everything])))
      ),
      (
        "rights-none",
        down(
          .rights(
            SessionRights(
              session: session, topic: lamp, mayOwn: false, mayBePresent: false, mayDescribe: false, write: [],
              delete: [])))
      ),
      ("upstream", down(.upstream(UpstreamState(session: session, isReached: false)))),
      (
        "hubs",
        down(
          .hubs(
            OtherHubs(
              session: session,
              addresses: [HubAddress(tcp: "10.0.0.6", port: 7_877), HubAddress(tcp: "[fe80::1]", port: 65_535)])))
      ),
      ("hubs-none", down(.hubs(OtherHubs(session: session, addresses: [])))),
      ("drain", up(.drain(DrainRequest(withinMilliseconds: 30_000, isAnyway: true)))),
      (
        "forward",
        up(
          .forward(
            Forward(
              ForwardHead(model: "lamp", record: 41, identity: identity, user: "ann"),
              [
                NumberedProposal(
                  topic: Topics.firstModel, number: 7, confirmed: 6,
                  operations: [WireOperation(verb: .set, field: .name("level"), value: json("0.9"))])
              ])))
      ),
      (
        "forward-nobody",
        up(.forward(Forward(ForwardHead(model: "lamp", record: 0, identity: identity, user: nil), [])))
      ),
      ("keys", down(.keys(AnnouncedKeys(session: session, present: Array(1...32))))),
      (
        "keys-next",
        down(
          .keys(
            AnnouncedKeys(
              session: session, present: Array(1...32), next: .init(key: Array(101...132), moment: 1_795_260_576_514))))
      ),
      (
        "joined",
        down(
          .joined(
            Joined(
              session: session, request: 1, topic: lamp, epoch: epoch, version: 12, digest: 0xDEAD_BEEF_0BAD_CAFE,
              lastDecided: 4, delivery: .published, follows: .nothing, model: "lamp")))
      ),
      (
        "joined-routed",
        down(
          .joined(
            Joined(
              session: session, request: 2, topic: kiosk, epoch: epoch, version: 0, digest: 0, lastDecided: 0,
              delivery: .routed,
              follows: .snapshot, model: "shop/kiosk-3")))
      ),
      (
        "announce",
        down(
          .announce(
            Announce(
              session: session, request: 3, isComplete: true,
              models: [
                AnnouncedModel(model: "shop/kiosk-3", topic: kiosk, version: 41, fields: 3),
                AnnouncedModel(model: "shop/till_1/A", topic: kiosk + 1, version: 1, fields: 0),
              ])))
      ),
      (
        "announce-none", down(.announce(Announce(session: session, request: 4, isComplete: false, models: [])))
      ),
      ("head", down(.head(Head(epoch: epoch, version: 12, digest: 0xDEAD_BEEF_0BAD_CAFE)))),
      (
        "heads",
        down(
          .heads(
            HeadsAnswer(
              session: session, epoch: epoch,
              heads: [
                ModelHead(topic: lamp, version: 12, digest: 0xDEAD_BEEF_0BAD_CAFE),
                ModelHead(topic: kiosk, version: 0, digest: 0),
              ])))
      ),
      ("ask-offer", down(.askOffer(AskOffer(session: session, request: 9, topic: lamp)))),
      (
        "offer",
        up(
          .offer(
            Offer(
              request: 9, topic: lamp, epoch: epoch - 1, version: 12, chunk: 0, isLast: true, fields: [field, gone])))
      ),
      (
        "offer-numbers",
        up(
          .offer(
            Offer(
              request: 9, topic: lamp, epoch: epoch - 1, version: 12, chunk: 1, isLast: true, fields: [gone],
              numbers: [SeenNumber(tag: kitchen.tag, number: 7), SeenNumber(tag: driver.tag, number: 4_294_967_295)])))
      ),
      (
        "offer-empty",
        up(.offer(Offer(request: 10, topic: kiosk, epoch: 0, version: 0, chunk: 0, isLast: true, fields: [])))
      ),
    ]
  }

  private static var commits: [(file: String, vector: Vector)] {
    func group(_ previous: Version, _ names: NamesRun, _ commits: [Commit], _ origins: [Origin] = [kitchen]) -> Vector {
      down(
        .commits(
          CommitGroup(
            epoch: epoch, previous: previous, time: now, origins: origins, names: names, commits: commits)))
    }
    return [
      (
        "commits",
        group(
          12, NamesRun(first: 3), [Commit(origin: 0, number: 5, changes: [CommitChange(field: 0, value: json("0.8"))])])
      ),
      (
        "commits-new-names",
        group(
          0, NamesRun(first: 0, names: ["@description", "level", "on"]),
          [
            Commit(
              origin: 0, number: 1,
              changes: [
                CommitChange(field: 0, value: json("{\"fields\":{\"level\":{\"type\":\"number\"}}}")),
                CommitChange(field: 1, value: json("0.3")), CommitChange(field: 2, value: json("false")),
              ])
          ])
      ),
      (
        "commits-several",
        group(
          9_007_199_254_740_993, NamesRun(first: 3, names: ["label"]),
          [
            Commit(origin: 0, number: 5, changes: [CommitChange(field: 1, value: json("\"Größe \\\"☀\\\"\""))]),
            Commit(
              origin: 1, number: 1, hops: 8,
              changes: [CommitChange(field: 3, value: nil), CommitChange(field: 2, value: json("null"))]),
            Commit(origin: 0, number: 6, hops: 1, changes: [CommitChange(field: 3, value: json(" [ 1 , 2 ] "))]),
          ], [kitchen, driver])
      ),
      (
        "commits-users",
        group(
          12, NamesRun(first: 3),
          [
            Commit(origin: 0, number: 5, changes: [CommitChange(field: 0, value: json("1"))]),
            Commit(origin: 1, number: 6, changes: [CommitChange(field: 0, value: json("2"))]),
            Commit(origin: 2, number: 1, changes: [CommitChange(field: 0, value: json("3"))]),
          ], [kitchen, member, Origin(tag: driver.tag, name: String(repeating: "é", count: 127), user: "uid:1000")])
      ),
      (
        "commits-expiry",
        group(
          12, NamesRun(first: 3),
          [
            Commit(
              origin: 0, number: 0,
              changes: [CommitChange(field: 0, value: json("0")), CommitChange(field: 2, value: nil)])
          ], [Origin(tag: .none, name: "expiry")])
      ),
      ("commits-without-changes", group(12, NamesRun(first: 3), [Commit(origin: 0, number: 7, changes: [])])),
    ]
  }

  private static var catchups: [(file: String, vector: Vector)] {
    func chunk(
      _ form: CatchupChunk.Form, _ previous: Version, _ index: UInt32, _ isLast: Bool, _ names: NamesRun,
      _ entries: [CatchupEntry]
    ) -> Vector {
      down(
        .catchup(
          CatchupChunk(
            session: session, request: 1, epoch: epoch, previous: previous, version: 12, form: form, chunk: index,
            isLast: isLast, lastDecided: 4, origins: entries.isEmpty ? [] : [kitchen, driver], names: names,
            entries: entries))
      )
    }
    let level = CatchupEntry(field: 0, version: 12, origin: 0, number: 4, time: now, value: json("0.8"))
    let on = CatchupEntry(field: 1, version: 9, origin: 1, number: 1, time: now - 60_000, value: json("true"))
    let gone = CatchupEntry(field: 2, version: 11, origin: 1, number: 2, time: now - 9, value: nil)
    return [
      ("catchup-delta", chunk(.delta, 10, 0, true, NamesRun(first: 2, names: ["old"]), [level, gone])),
      ("catchup-snapshot-first", chunk(.snapshot, 0, 0, false, NamesRun(first: 0, names: ["level"]), [level])),
      ("catchup-snapshot-last", chunk(.snapshot, 0, 1, true, NamesRun(first: 1, names: ["on", "old"]), [on])),
      ("catchup-empty", chunk(.snapshot, 0, 0, true, NamesRun(first: 0), [])),
    ]
  }

  private static var proposals: [(file: String, vector: Vector)] {
    let set = WireOperation(verb: .set, field: .id(0), value: json("0.8"))
    let everyVerb = [
      WireOperation(verb: .set, field: .name("label"), value: json("\"desk\"")),
      WireOperation(verb: .delete, field: .id(2), value: nil),
      WireOperation(verb: .setIfAbsent, field: .name("@description"), value: json("{\"fields\":{}}")),
      WireOperation(verb: .add, field: .id(4), value: json("-2.5")),
      WireOperation(verb: .max, field: .id(5), value: json("{\"$int\":\"9223372036854775807\"}")),
      WireOperation(verb: .min, field: .id(6), value: json("1e3")),
    ]
    let conditions = [
      WireCondition(epoch: epoch, version: 11, field: .id(0)),
      WireCondition(epoch: epoch, version: 0, field: .name("label")),
    ]
    return [
      ("propose", up(.propose([NumberedProposal(topic: lamp, number: 5, confirmed: 4, operations: [set])]))),
      (
        "propose-every-verb",
        up(.propose([NumberedProposal(topic: lamp, number: 1, operations: everyVerb)]))
      ),
      (
        "propose-union",
        up(
          .propose([
            NumberedProposal(
              topic: lamp, number: 3,
              operations: [
                WireOperation(verb: .union, field: .name("tags"), value: FieldValue(bytes: Array(#"["a",1]"#.utf8)))
              ])
          ]))
      ),
      (
        "propose-lists",
        up(
          .propose([
            NumberedProposal(
              topic: lamp, number: 4,
              operations: [
                WireOperation(
                  verb: .insert, field: .name("cues@7"),
                  value: ListOperand(after: "3", before: "9", element: json("{\"name\":\"Storm\"}")).value),
                WireOperation(verb: .move, field: .id(8), value: ListOperand(before: "7").value),
                WireOperation(verb: .replace, field: .name("cues@9"), value: json("[1.50]")),
                WireOperation(verb: .delete, field: .name("cues@3"), value: nil),
              ])
          ]))
      ),
      (
        "propose-clear",
        up(
          .propose([
            NumberedProposal(
              topic: lamp, number: 2, operations: [WireOperation(verb: .clear, field: .id(0), value: nil)])
          ]))
      ),
      (
        "propose-conditions",
        up(
          .propose([
            NumberedProposal(
              topic: lamp, number: 6, confirmed: 5, hops: 2,
              metadata: [MetadataEntry(name: "user", value: "ada"), MetadataEntry(name: "", value: "")],
              conditions: conditions, operations: [set])
          ]))
      ),
      (
        "propose-several",
        up(
          .propose([
            NumberedProposal(topic: lamp, number: 7, confirmed: 5, operations: [set]),
            NumberedProposal(topic: kiosk, number: 4_294_967_295, isVoid: true, operations: [set, everyVerb[1]]),
            NumberedProposal(topic: lamp, number: 8, confirmed: 5, operations: []),
          ]))
      ),
      (
        "propose-earlier",
        up(
          .propose([
            NumberedProposal(topic: lamp, number: 7, confirmed: 6, isEarlier: true, operations: [set]),
            NumberedProposal(topic: lamp, number: 8, confirmed: 6, isVoid: true, isEarlier: true, operations: [set]),
          ]))
      ),
    ]
  }

  private static var outcomes: [(file: String, vector: Vector)] {
    func frame(_ outcomes: WireOutcome...) -> Vector {
      down(.outcomes(Outcomes(session: session, epoch: epoch, outcomes: outcomes)))
    }
    let conflict = Conflict(
      field: "level", version: 12, origin: driver, ageMilliseconds: 1_500, value: json("0.8"))
    let unwritten = Conflict(field: "label", version: 0, origin: .none, ageMilliseconds: 0, value: nil)
    let kinds: [(String, WireOutcome)] = [
      ("committed", WireOutcome(topic: lamp, number: 5, .committed(count: 3, version: 13))),
      ("unchanged", WireOutcome(topic: lamp, number: 8, .unchanged)),
      ("refused", WireOutcome(topic: lamp, number: 9, .refused(Refusal(.valueTooLarge, "70,000 of 65,536 bytes")))),
      ("conflict", WireOutcome(topic: lamp, number: 10, .conflict(conflict))),
      ("conflict-unwritten", WireOutcome(topic: lamp, number: 11, .conflict(unwritten))),
      ("expired", WireOutcome(topic: lamp, number: 12, .expired)),
      ("unknown", WireOutcome(topic: lamp, number: 13, .unknown)),
      ("retry-later", WireOutcome(topic: kiosk, number: 1, .retryLater(.starting, pauseMilliseconds: 250))),
      ("expected", WireOutcome(topic: kiosk, number: 9, .expected(next: 2))),
    ]
    let all = down(.outcomes(Outcomes(session: session, epoch: epoch, outcomes: kinds.map { $0.1 })))
    let violation = WireOutcome(topic: lamp, number: 9, .refused(Refusal(.doesNotFit, "lamp.level: 7 is not in 0...1")))
    return kinds.map { ("outcomes-" + $0.0, frame($0.1)) }
      + [("outcomes-all", all), ("outcomes-none", frame()), ("outcomes-does-not-fit", frame(violation))]
  }
}
