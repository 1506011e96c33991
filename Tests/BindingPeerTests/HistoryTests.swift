import BindbusTesting
import BindingHub
import BindingModel
import BindingProtocol
import Foundation
import Testing

@testable import BindingPeer

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
  @Field var name = ""
}

@Suite("Earlier commits, from a hub in this process")
struct HistoryTests {
  private let hub: Hub
  private let transport: InterceptingTransport
  private let desk: Peer
  private let kitchen: Peer

  init() throws {
    hub = try Hub.embedded()
    transport = InterceptingTransport(hub)
    desk = try Peer(name: "desk", hub: .inProcess(hub))
    kitchen = try Peer(name: "kitchen", hub: .inProcess(transport))
  }

  private func model(_ peer: Peer, _ id: String = "lamp") async throws -> SharedModel {
    let model = try peer.model(id)
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    return model
  }

  /// Writes values to a field, each in a commit of its own.
  private func write(_ values: [String], to field: String, of model: SharedModel) async throws {
    for value in values {
      let write = try model.write(
        Proposal(operations: [FieldOperation(.set, field, FieldValue(bytes: Array(value.utf8)))]))
      _ = await write.outcome(timeout: .seconds(20))
    }
  }

  private func versions(_ model: SharedModel, _ query: SharedModel.HistoryQuery = .init()) async throws -> [Version] {
    var versions: [Version] = []
    for try await commit in model.history(query, timeout: .seconds(20)) { versions.append(commit.version) }
    return versions
  }

  @Test("the commits of a model come newest first, with writer, time and values")
  func newestFirst() async throws {
    let (mine, theirs) = (try await model(desk), try await model(kitchen))
    try await write(["1", "2"], to: "level", of: mine)
    try await write(["3"], to: "level", of: theirs)
    let page = try await mine.historyPage(timeout: .seconds(20))
    #expect(page.commits.map(\.version) == [3, 2, 1] && page.next == nil && page.head == 3)
    #expect(page.commits.map(\.writer.name) == ["kitchen", "desk", "desk"])
    #expect(page.commits.map { $0.changes.first?.value?.description } == ["3", "2", "1"])
    #expect(page.commits.allSatisfy { $0.epoch == mine.version.epoch && $0.time > 1_600_000_000_000 })
    #expect(page.horizon == SharedModel.Horizon(version: 1, reason: .beginning))
  }

  @Test("a query names fields, writers, versions, times and an order, and pages follow each other by themselves")
  func queries() async throws {
    let (mine, theirs) = (try await model(desk), try await model(kitchen))
    try await write((1...20).map { "\($0)" }, to: "level", of: mine)
    try await write(["\"sun\""], to: "name", of: theirs)
    var query = SharedModel.HistoryQuery()
    #expect(try await versions(mine, query) == Array((1...21).reversed()))
    query.isOldestFirst = true
    #expect(try await versions(mine, query) == Array(1...21))
    query.versions = 5...8
    #expect(try await versions(mine, query) == Array(5...8))
    query = .init()
    query.fields = ["name"]
    #expect(try await versions(mine, query) == [21])
    query = .init()
    query.writers = ["kitchen"]
    #expect(try await versions(mine, query) == [21])
    query = .init()
    query.until = 1
    #expect(try await versions(mine, query).isEmpty)
    query = .init()
    query.epoch = mine.version.epoch + 1
    #expect(try await versions(mine, query).isEmpty)
    query = .init()
    query.versions = 0...0
    #expect(try await versions(mine, query).isEmpty)
    // Page by page.
    var found: [Version] = []
    var next: SharedModel.HistoryQuery? = .init()
    while let asked = next {
      let page = try await mine.historyPage(asked, count: 4, timeout: .seconds(20))
      #expect(page.commits.count <= 4)
      found += page.commits.map(\.version)
      next = page.next
    }
    #expect(found == Array((1...21).reversed()))
  }

  @Test("a page survives a lost connection and a lost answer")
  func lost() async throws {
    let mine = try await model(kitchen)
    try await write(["1", "2"], to: "level", of: mine)
    let isFirst = Protected(true)
    transport.change { message in
      guard case .past = message else { return message }
      return isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst ? nil : message
      }
    }
    // The first answer is lost; the request is repeated after 3 s.
    #expect(try await versions(mine) == [2, 1])
    transport.keep { if case .history = $0 { true } else { false } }
    let asked = Task { try await versions(mine) }
    transport.cut()
    transport.keep { _ in false }
    transport.heal()
    #expect(try await asked.value == [2, 1])
  }

  @Test("a hub that does not know history, a timeout, a cancelled task and an ephemeral model are told apart")
  func errors() async throws {
    let mine = try await model(kitchen)
    try await write(["1"], to: "level", of: mine)
    await #expect(throws: SharedModel.HistoryError.ephemeral) {
      let ephemeral = mine.ephemeral
      #expect(await ephemeral.whenCurrent(timeout: .seconds(20)))
      _ = try await ephemeral.historyPage(timeout: .seconds(20))
    }
    transport.keep { if case .history = $0 { true } else { false } }
    await #expect(throws: SharedModel.HistoryError.noAnswer) {
      _ = try await mine.historyPage(timeout: .milliseconds(50))
    }
    let asked = Task { try await mine.historyPage(timeout: .seconds(60)) }
    asked.cancel()
    await #expect(throws: SharedModel.HistoryError.cancelled) { _ = try await asked.value }
    transport.change { message in
      guard case .welcome(var welcome) = message else { return message }
      welcome.capabilities.removeAll { $0 == Capability.history }
      return .welcome(welcome)
    }
    transport.cut()
    transport.heal()
    #expect(await mine.whenCurrent(timeout: .seconds(20)), "\(kitchen.status), \(mine.status)")
    await #expect(throws: SharedModel.HistoryError.hubTooOld) { _ = try await mine.historyPage(timeout: .seconds(20)) }
    await kitchen.close()
    await #expect(throws: SharedModel.HistoryError.stopped(.closed)) { _ = try await mine.historyPage() }
  }

  @Test("the value that a field had just before a version, which may be the present one or none")
  func before() async throws {
    let mine = try await model(desk)
    try await write(["1"], to: "a", of: mine)
    try await write(["5", "6", "7"], to: "b", of: mine)
    try await write(["2"], to: "a", of: mine)
    func value(_ field: String, _ version: Version) async throws -> (String?, Version)? {
      try await mine.value(of: field, before: version, timeout: .seconds(20)).map {
        ($0.value?.description, $0.version)
      }
    }
    #expect(try await value("a", 5)! == ("1", 1))  // SAFETY: a nil fails the test.
    #expect(try await value("b", 3)! == ("5", 2))  // SAFETY: a nil fails the test.
    #expect(try await value("b", 9)! == ("7", 4))  // SAFETY: a nil fails the test.
    #expect(try await value("b", 2)! == (nil, 0))  // SAFETY: a nil fails the test.
    #expect(try await value("none", 4)! == (nil, 0))  // SAFETY: a nil fails the test.
  }

  @Test("past the horizon the value of then is unknown, and a later one is not taken for it")
  func pastHorizon() async throws {
    let mine = try await model(desk)
    try await write(["\"old\""], to: "a", of: mine)
    let long = "\"" + String(repeating: "x", count: 60_000) + "\""
    for number in 0..<8 {
      try await write(["\(number)"], to: "c", of: mine)
      try await write([long], to: "b", of: mine)
    }
    try await write(["\"new\""], to: "a", of: mine)
    let page = try await mine.historyPage(timeout: .seconds(20))
    #expect(page.horizon.version > 1 && page.horizon.reason == .notKept)
    let head = mine.version.version
    #expect(try await mine.value(of: "a", before: head, timeout: .seconds(20)) == nil)
    // A field that was not written since needs no history.
    #expect(try await mine.value(of: "c", before: head, timeout: .seconds(20))?.value?.description == "7")
    var query = SharedModel.HistoryQuery()
    query.isOldestFirst = true
    #expect(try await versions(mine, query).first == page.horizon.version)
  }
}
