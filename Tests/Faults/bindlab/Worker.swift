import BindingModel
import BindingPeer
import BindingProtocol
import Dispatch
import Simulation

/// A text that many write concurrently.
struct Page: Model {
  @Field(policy: .text) var body = ""
}

/// A peer, its history, and the writes that a seed draws for it.
final class Worker: Sendable {
  /// Locked during each write: once it is set, no further write is made.
  let isResting = Protected(false)
  private let peer: Peer
  private let writer: HistoryWriter
  private let models: [SharedModel]
  private let page: Page
  /// Where the text is read and written: on its lane nothing changes in between.
  private let queue: DispatchQueue
  private let tokens: [ObserverToken]
  private let chance: Protected<Chance>
  private let lastWrite = Protected(0)
  private let pause: Duration
  /// Whether it only sets and adds, so that the sum of its additions can be checked.
  private let isPlain: Bool
  /// Whether a hub answers, and how often one has welcomed this peer.
  private let link: Protected<(isLive: Bool, welcomes: Int)>
  private let watch: ObserverToken

  /// - Parameter rate: writes a second, at most.
  init(
    _ peer: Peer, _ writer: HistoryWriter, seed: UInt64, rate: Int, keepsOutbox: Bool, isPlain: Bool = false
  ) async throws {
    self.peer = peer
    self.isPlain = isPlain
    let link = Protected((isLive: false, welcomes: 0))
    self.link = link
    watch = peer.observeStatus { status in
      link.withLock { link in
        if status.isLive, !link.isLive { link.welcomes += 1 }
        link.isLive = status.isLive
      }
    }
    self.writer = writer
    pause = .nanoseconds(1_000_000_000 / rate)
    chance = Protected(Chance(seed: seed))
    writer.record(
      "peer",
      [
        .init("tag", .string("\(peer.tag)")), .init("name", .string(peer.name)), .init("outbox", .bool(keepsOutbox)),
      ])
    queue = DispatchQueue(label: "page")
    let direct = try ["lab/a", "lab/b"].map { try peer.model($0, on: .direct) }
    writer.record("share", [.init("m", "lab/text")])
    page = try await peer.share(Page.self, id: "lab/text", on: .queue(queue), timeout: .zero)
    models = direct + (page.shared.map { [$0] } ?? [])
    tokens = models.map { model in model.observe { [writer] update, missed in writer.update(update, missed: missed) } }
  }

  func start(_ style: Work.Style) {
    Task.detached { [self] in
      while true {
        if style == .storm { await increment() } else { unlessResting { step() } }
        try? await Task.sleep(for: style == .storm ? .zero : pause)
      }
    }
  }

  /// - Returns: nil if it is time to rest.
  @discardableResult
  private func unlessResting<Result: Sendable>(_ body: () -> Result?) -> Result? {
    isResting.withLock { $0 ? nil : body() }
  }

  /// The peer's state, for the caller that waits until all peers agree.
  var look: JSON {
    let status = peer.status
    let versions = models.map { model in
      let (epoch, version) = model.version
      return JSON.Member(model.id, [.unsigned(epoch), .unsigned(version), .bool(model.isCurrent)])
    }
    return .object([
      .init("name", .string(peer.name)), .init("live", .bool(status.isLive)),
      .init("welcomes", .integer(Int64(link.withLock { $0.welcomes }))),
      .init("unconfirmed", .integer(Int64(status.unconfirmed))), .init("outbox", .string("\(status.outbox)")),
      .init("models", .object(versions)),
    ])
  }

  /// Records what all models show, and closes the peer.
  func end() async {
    // The lanes first deliver what waits.
    queue.sync {}
    for model in models { writer.final(model) }
    await peer.close(flush: .seconds(1))
  }

  // MARK: Writing

  /// One write, drawn from the seed.
  private func step() {
    let (kind, number, choice) = chance.withLock { ($0.below(isPlain ? 85 : 100), $0.below(4), $0.below(2)) }
    let model = models[choice]
    let value = JSON.string("\(peer.name).\(peer.tag.short).\(lastWrite.withLock { $0 } + 1)")
    switch kind {
    case 0..<30: set(["r\(number)"], value, model)
    case 30..<50: set(["own-\(peer.name)"], value, model)
    case 50..<65: set(["left", "right"], value, model)
    case 65..<85: write([("add", .add, "count", .integer(Int64(number == 0 ? -1 : number)))], model)
    case 85..<88: write([("union", .union, "tags", .array([value]))], model)
    case 88..<94: compare("owner", model) { _ in value }
    case 94..<97:
      if choice == 0 { write([("delete", .delete, "fleeting", nil)], model) } else { set(["fleeting"], value, model) }
    default: insertWord()
    }
  }

  private func set(_ fields: [String], _ value: JSON, _ model: SharedModel) {
    write(fields.map { ("set", .set, $0, value) }, model)
    for field in fields {
      writer.record(
        "read",
        [.init("m", .string(model.id)), .init("f", .string(field)), .init("value", model[field].shownJSON)])
    }
  }

  /// A write that takes effect only if no other write came first.
  @discardableResult
  private func compare(
    _ field: String, _ model: SharedModel, _ value: (_ committed: JSON) -> JSON
  ) -> PendingWrite? {
    let seen = model.record(field)
    let condition = Condition(field: field, epoch: seen?.epoch ?? 0, version: seen?.version ?? 0)
    return write([("set", .set, field, value((seen?.committed).shownJSON))], model, [condition])
  }

  @discardableResult
  private func write(
    _ operations: [(word: String, verb: Verb, field: String, value: JSON?)], _ model: SharedModel,
    _ conditions: [Condition] = []
  ) -> PendingWrite? {
    let proposal = Proposal(
      operations: operations.map { FieldOperation($0.verb, $0.field, $0.value.map { FieldValue(json: $0) }) },
      conditions: conditions)
    let lines = operations.map { JSON.array([.string($0.word), .string($0.field), $0.value ?? .null]) }
    return record(lines, model.id, conditions) { try model.write(proposal) }
  }

  /// Puts a word of its own into the text, at its beginning or end.
  private func insertWord() {
    queue.sync {
      // One word in terms of the text merge: letters and digits.
      let word = "\(peer.name)x\(peer.tag.short)x\(lastWrite.withLock { $0 } + 1)"
      let body = page.body
      let isFirst = chance.withLock { $0.below(2) == 0 }
      record([["text", "body", .string(word)]], "lab/text", []) {
        try page.$body.write(isFirst ? "\(word) \(body)" : "\(body) \(word)")
      }
    }
  }

  /// Records a write before it is made, makes it, and records that it was made, and its outcome.
  @discardableResult
  private func record(
    _ operations: [JSON], _ model: String, _ conditions: [Condition], _ write: () throws -> PendingWrite
  ) -> PendingWrite? {
    let id = lastWrite.withLock {
      $0 += 1
      return $0
    }
    writer.submit(id, to: model, operations, conditions: conditions)
    guard let made = try? write() else {
      writer.record("not-made", [.init("w", .unsigned(UInt64(id)))])
      return nil
    }
    writer.record("made", [.init("w", .unsigned(UInt64(id)))])
    Task.detached { [writer] in writer.outcome(of: id, await made.outcome) }
    return made
  }

  // MARK: Storm

  /// Adds one to a field shared by all, by comparison, until it is committed or it is time to rest.
  private func increment() async {
    let model = models[0]
    while true {
      let write = unlessResting { compare("contended", model) { .integer(($0.int64 ?? 0) + 1) } }
      guard let write else {
        try? await Task.sleep(for: .milliseconds(5))
        return
      }
      guard case .conflict(let conflict) = await write.outcome else { return }
      while (model.record("contended")?.version ?? 0) < conflict.version, !isResting.withLock({ $0 }) {
        try? await Task.sleep(for: .milliseconds(1))
      }
    }
  }
}
