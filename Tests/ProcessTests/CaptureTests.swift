import BindingProtocol
import Foundation
import Testing
import ZeroMQ

/// All bytes that reach who may not read a model. Ann and dan may do everything and come over tcp; ann writes
/// `secret/plan`, dan `public/menu`. Ben is a local user and a member, and may read `public/*`, which is published.
@Suite("Captures of connections without the right", .serialized)
struct CaptureTests {
  private static let access = """
    {"bindbus": "access", "version": 1, "roles": {
      "staff": {"read": ["*"], "write": ["*"], "own": ["*"], "present": ["*"], "fanout": true, "recover": true,
        "admin": true},
      "hall": {"read": ["public/*"], "fanout": true}},
     "members": {"ann": ["staff"], "dan": ["staff"], "ben": ["hall"], "uid:\(geteuid())": ["hall"]}}
    """
  private static let name = "secret/plan"
  /// What nobody may see: value, field, peer's name, what it says of itself, the model's name.
  private static let secrets = ["marzipan", "codeword", "torrone", "nougat", name].map { Array($0.utf8) }

  private let users: KeyedUsers
  private let hub: RunningProcess
  private let tcp: String
  private let hubKey: PublicKey
  private let ann: RawPeer
  private let dan: RawPeer
  /// The number of ann's topic of the model.
  private let topic: Topic

  init() throws {
    users = try KeyedUsers()
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    let path = users.configuration("host") + "/bindbus/hub/access.json"
    try Data(CaptureTests.access.utf8).write(to: URL(fileURLWithPath: path))
    hub = try users.start(
      "bindhub",
      [
        "serve", "--listen", users.bench.hub, "--listen", "tcp://127.0.0.1:0", "--store", "memory", "--heartbeat",
        "250",
        "--log", "error",
      ], as: "host")
    tcp = String(try #require(hub.line { $0.hasPrefix("listening tcp://") }, "\(hub.output)").dropFirst(10))
    hubKey = try #require(PublicKey(try users.run("bindhub", ["keys", "show"], as: "host").output))
    ann = try CaptureTests.member("ann", users, tcp, hubKey, name: "torrone")
    try ann.hello(capabilities: Capability.all)
    try ann.join(CaptureTests.name)
    topic = ann.topic
    try ann.propose(1, "codeword", "\"marzipan\"")
    #expect(try ann.outcome() == .committed(count: 1, version: 1))
    try ann.join(Names.ephemeral(CaptureTests.name))
    for (number, field) in ["@me", "@owner"].enumerated() {
      try ann.propose(ProposalNumber(number + 1), field, "{\"mood\":\"nougat\"}")
      _ = try ann.outcome()
    }
    dan = try CaptureTests.member("dan", users, tcp, hubKey, name: "cook")
    try dan.hello()
    try dan.join("public/menu")
  }

  private static func member(
    _ name: String, _ users: KeyedUsers, _ tcp: String, _ hubKey: PublicKey, name peer: String = "ben"
  ) throws -> RawPeer {
    let pair = try KeyPair.random()
    #expect(try users.run("bindhub", ["admit", name, "\(pair.publicKey)"], as: "host").code == 0)
    return try RawPeer(tcp, name: peer, options: [.encryptedClient(server: hubKey, own: pair)])
  }

  /// Ann writes once more to the secret model, then dan what all may read.
  private func writeOn(_ number: ProposalNumber, _ marker: String) throws {
    let secret = NumberedProposal(
      topic: topic, number: number + 1,
      operations: [
        WireOperation(
          verb: .set, field: .name("codeword"), value: FieldValue(bytes: Array("\"marzipan \(number)\"".utf8)))
      ])
    try ann.send(.propose([secret]))
    _ = try ann.outcome()
    try dan.propose(number, "dish", "\"\(marker)\"")
    _ = try dan.outcome()
  }

  private var questions: NosyQuestions {
    NosyQuestions(session: 0, start: ann.start, topic: topic, owner: ann.session)
  }

  private func bytes<Number: FixedWidthInteger>(of number: Number) -> [UInt8] {
    withUnsafeBytes(of: number) { Array($0) }
  }

  private func check(_ bytes: [UInt8], _ what: String) {
    let tag = self.bytes(of: ann.identity.tag.rawValue.littleEndian)
    let session = self.bytes(of: ann.session.littleEndian)
    // Answers to frames that name ann's session repeat its number, as the number that was sent.
    for secret in CaptureTests.secrets + [tag] + (what == "sub" ? [session] : []) {
      #expect(Data(bytes).range(of: Data(secret)) == nil, "\(what): \(String(decoding: secret, as: UTF8.self))")
    }
  }

  @Test("no byte of a model reaches a local user without the right, whatever it asks, guesses and forges")
  func ipc() throws {
    let ben = try Recorder.welcomed(users.bench.hub)
    var questions = questions
    questions.session = ben.session
    for frame in questions.frames { try ben.send(frame) }
    try ben.settle()
    for (number, guess) in NosyQuestions.guesses(10_000).enumerated() {
      try ben.send(guess)
      // What the hub has answered must be read, or it would end the connection.
      if number % 500 == 0 { try ben.settle() }
    }
    try ben.send(.join([Join(request: 9, model: "public/menu")]))
    try writeOn(1, "pancakes")
    let after = try Recorder.welcomed(users.bench.hub)
    for recorder in [ben, after] {
      try recorder.send(.join([Join(request: 10, model: "public/menu")]))
      try recorder.record(until: Array("pancakes".utf8))
      try recorder.settle()
      check(recorder.bytes, "ipc")
    }
    // Ann's session has lived through it.
    try writeOn(2, "waffles")
  }

  @Test("no byte of a model reaches a local subscriber without the right: everything, guessed topics, data upstream")
  func publishedOverIPC() throws {
    let endpoint = users.bench.hub + ".pub"
    let recorders = try (0..<10).map { _ in try Recorder(endpoint, kind: "SUB") }
    for (number, recorder) in recorders.enumerated() {
      // Data that is no subscription; the frames of peers among it.
      for frame in questions.frames { try recorder.send([2] + frame) }
      try recorder.send([UInt8](repeating: 7, count: 200))
      if number == 0 {
        try recorder.send([1])
      } else {
        // The session topic of ann, and the topic of the model, as somebody would guess them.
        try recorder.send([1] + Topics.sessionTopic(ann.session))
        for topic in topic - 2...topic + 2 { try recorder.send([1] + Topics.bytes(topic)) }
        for _ in 0..<1_000 { try recorder.send([1] + Topics.bytes(.random(in: Topics.firstModel ... .max))) }
        try recorder.send([1] + Topics.bytes(Topics.heartbeat))
      }
    }
    // Two heartbeats later the hub has read all of that.
    for recorder in recorders {
      try recorder.record { bytes in bytes.count > 2 * 30 }
    }
    try writeOn(1, "pancakes")
    try recorders[0].record(until: Array("pancakes".utf8))
    for recorder in recorders {
      let before = recorder.bytes.count
      try recorder.record { bytes in bytes.count > before + 60 }
      check(recorder.bytes, "sub")
    }
  }

  @Test("no byte of a model reaches a member without the right, in its frames")
  func memberFrames() throws {
    let ben = try CaptureTests.member("ben", users, tcp, hubKey)
    try ben.hello(capabilities: Capability.all)
    var frames: [[UInt8]] = []
    var questions = questions
    questions.session = ben.session
    for frame in questions.frames { try ben.send(frame) }
    frames += try ben.framesUntilPong(1)
    for (number, guess) in NosyQuestions.guesses(2_000).enumerated() {
      try ben.send(guess)
      if number % 200 == 0 { frames += try ben.framesUntilPong(UInt64(number) + 2) }
    }
    try writeOn(1, "pancakes")
    frames += try ben.framesUntilPong(9_999)
    check(frames.flatMap { $0 }, "tcp")
  }

  @Test("a hello that is replayed takes over the identity, and none of its owner's rights")
  func replayed() throws {
    // Whoever has seen the secret of ann's program, for example in a copy of its outbox.
    let thief = try Recorder(users.bench.hub, kind: "DEALER")
    let hello = PeerMessage.hello(Hello(identity: ann.identity, isResuming: true, capabilities: Capability.all))
    try thief.send(hello.encode(session: thief.session, start: 0))
    try thief.record { $0.count > 15 }
    let join = PeerMessage.join([Join(request: 1, prefix: "secret/"), Join(request: 2, model: "secret/other")])
    try thief.send(join.encode(session: thief.session, start: ann.start))
    try thief.send(PeerMessage.askHeads.encode(session: thief.session, start: ann.start))
    try thief.send(
      PeerMessage.ping(Ping(token: 0x6B6B_6B6B_6B6B_6B6B)).encode(session: thief.session, start: ann.start))
    try thief.record(until: [UInt8](repeating: 0x6B, count: 8))
    for secret in CaptureTests.secrets where secret != Array("torrone".utf8) {
      #expect(!thief.contains(secret), "\(String(decoding: secret, as: UTF8.self))")
    }
  }

  @Test("an answer has the same bytes whether the model exists or not")
  func sameAnswers() throws {
    let (there, absent) = (CaptureTests.name, "secret/pine")
    let other = topic + 0x1000
    func both(_ message: (_ model: String, _ topic: Topic) -> PeerMessage) -> [PeerMessage] {
      [message(there, topic), message(absent, other)]
    }
    let pairs: [[PeerMessage]] = [
      both { model, _ in .join([Join(request: 1, model: model)]) },
      both { model, _ in .join([Join(request: 1, model: Names.ephemeral(model))]) },
      both { model, _ in .join([Join(request: 1, model: model, epoch: 1 << 60, version: 1 << 60)]) },
      both { model, _ in .join([Join(request: 1, prefix: model + "/")]) },
      both { model, _ in .verify(Verify(timeoutMilliseconds: 50, names: [model])) },
      both { _, topic in
        .propose([
          NumberedProposal(
            topic: topic, number: 1, operations: [WireOperation(verb: .delete, field: .name("codeword"), value: nil)])
        ])
      },
      both { _, topic in .offer(NosyQuestions.offer(topic)) },
      both { _, topic in .approval(Approval(topic: topic, token: 1, isAccepted: false)) },
      both { _, topic in
        .awaitApplied(AwaitApplied(request: 1, topic: topic, epoch: 1, version: 1, timeoutMilliseconds: 10))
      },
      both { _, topic in .report([AppliedEntry(topic: topic, epoch: 1, version: 1, digest: 1, healed: 0)]) },
      both { _, topic in
        .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: topic, confirmed: 1, applied: 1)]))
      },
      both { _, topic in .leave(Leave(topics: [topic])) },
    ]
    for pair in pairs {
      let answers = try pair.map { message in
        let recorder = try Recorder.welcomed(users.bench.hub)
        return try recorder.answer(to: message.encode(session: recorder.session, start: recorder.start))
      }
      // What was asked for is repeated in the answers, in three forms.
      let (asked, meant) = (UInt32(other), UInt32(topic))
      let renamed = answers[1].replacing(Array(absent.utf8), with: Array(there.utf8))
        .replacing(Array("\(asked)".utf8), with: Array("\(meant)".utf8))
        .replacing(bytes(of: asked.littleEndian), with: bytes(of: meant.littleEndian))
        .replacing(Topics.bytes(other), with: Topics.bytes(topic))
      #expect(answers[0] == renamed, "\(pair[0].kind): \(answers)")
    }
  }
}
