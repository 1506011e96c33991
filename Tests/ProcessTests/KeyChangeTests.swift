import Foundation
import Testing

/// A running `bindpeer pipe` that gets a line of its own field every few milliseconds, until it is stopped.
private final class SteadyWriter: @unchecked Sendable {  // SAFETY: all is touched only while `state` is held
  private let process: RunningProcess
  private let state = NSCondition()
  private var count = 0
  private var isStopped = false
  private var hasEnded = false

  init(_ process: RunningProcess) {
    self.process = process
    Thread.detachNewThread { [weak self] in
      while let self, self.writeNext() { usleep(20_000) }
    }
  }

  private func writeNext() -> Bool {
    state.lock()
    defer { state.unlock() }
    guard !isStopped else {
      hasEnded = true
      state.broadcast()
      return false
    }
    process.write("{\"w\(count)\":\(count)}")
    count += 1
    return true
  }

  var written: Int {
    state.lock()
    defer { state.unlock() }
    return count
  }

  /// Stops, and returns the number of lines.
  func stop() -> Int {
    state.lock()
    defer { state.unlock() }
    isStopped = true
    while !hasEnded { state.wait() }
    return count
  }
}

/// Keys that change while programs run, over real tcp. Each user has a configuration folder of its own.
@Suite("Keys that change, between processes", .serialized)
struct KeyChangeTests {
  private let users: KeyedUsers

  init() throws { users = try KeyedUsers() }

  private func eventually(_ what: String, _ condition: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 30)
    while try !condition() {
      try #require(Date() < end, "never: \(what)")
      usleep(50_000)
    }
  }

  /// Starts a hub at an address that another one can have after it.
  private func startHub() throws -> (hub: RunningProcess, address: String) {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    // A hub at a given port publishes at the next one, and another program may have either.
    for _ in 0..<20 {
      let address = "tcp://127.0.0.1:\(Int.random(in: 20_000..<30_000))"
      if let hub = try serve(address) { return (hub, address) }
    }
    throw CocoaError(.fileNoSuchFile)
  }

  private func serve(_ address: String) throws -> RunningProcess? {
    let store = users.bench.folder.appendingPathComponent("store").path
    let hub = try users.start(
      "bindhub", ["serve", "--listen", address, "--store", store, "--name", "shop", "--log", "notice"], as: "host")
    return hub.line { $0.hasPrefix("listening tcp://") } == nil ? nil : hub
  }

  private func join(_ member: String, as user: String) throws {
    let joined = try users.run("bindpeer", ["join", try users.invite(member)], as: user)
    try #require(joined.code == 0, "\(joined.output)")
  }

  private func known(_ user: String) throws -> String {
    try String(contentsOfFile: users.configuration(user) + "/bindbus/hubs/shop.json", encoding: .utf8)
  }

  private func hubKeys() throws -> [String] {
    let shown = try users.run("bindhub", ["keys", "show"], as: "host")
    return shown.output.split(separator: "\n").map { String($0.prefix(40)) }
  }

  /// Waits until a member's command reads all that was written.
  private func expectAll(_ count: Int, as user: String) throws {
    try eventually("all \(count) writes are read") {
      let read = try users.run("bindpeer", ["--hub", "shop", "get", "log", "--json"], as: user)
      let names = Set(read.output.matches(of: /"w([0-9]+)"/).compactMap { Int($0.output.1) })
      return names == Set(0..<count)
    }
  }

  @Test("a watch and a writer go through a change of the hub's key and a restart after it, and no write is lost")
  func hubKey() throws {
    let (first, address) = try startHub()
    try join("anna", as: "guest")
    try join("ben", as: "away")
    try join("cleo", as: "long-away")
    let watch = try users.start("bindpeer", ["--hub", "shop", "watch", "log"], as: "guest")
    let writer = SteadyWriter(try users.start("bindpeer", ["--hub", "shop", "pipe", "log"], as: "guest"))
    try #require(watch.line { $0.contains("w0") } != nil, "\(watch.output)")
    let rotated = try users.run("bindhub", ["keys", "rotate", "--in", "1h"], as: "host")
    #expect(rotated.code == 0, "\(rotated.output)")
    let keys = try hubKeys()
    try #require(keys.count == 2, "\(keys)")
    try eventually("the running programs store the next key") { try known("guest").contains(keys[1]) }
    // Ben looks in once, and is away while the key changes.
    #expect(try users.run("bindpeer", ["--hub", "shop", "get", "log.w0"], as: "away").code == 0)
    #expect(try known("away").contains(keys[1]))
    let again = try users.run("bindhub", ["keys", "rotate"], as: "host")
    #expect(again.code == 1 && again.output.contains("--now"), "\(again.output)")
    let before = writer.written
    #expect(try users.run("bindhub", ["keys", "rotate", "--now"], as: "host").code == 0)
    try eventually("the key changes") { try hubKeys() == [keys[1]] }
    try eventually("the writer goes on") { writer.written > before + 50 }
    try eventually("the programs drop the old key") { try !known("guest").contains(keys[0]) }
    #expect(!watch.output.contains { $0.contains("does not answer") }, "\(watch.output)")
    first.send(SIGKILL)
    _ = first.end()
    let second = try #require(try serve(address))
    let count = writer.stop()
    try #require(watch.line { $0.contains("w\(count - 1)") } != nil, "\(watch.output.suffix(5))")
    try expectAll(count, as: "away")
    #expect(try known("away").contains(keys[1]) && !known("away").contains(keys[0]))
    // Cleo was not there between the announcement and the change.
    let lost = try users.run("bindpeer", ["--hub", "shop", "--timeout", "5s", "get", "log.w0"], as: "long-away")
    #expect(lost.code == 69, "\(lost.output)")
    #expect(
      lost.output.contains("the hub hung up: it may have another key than the pinned \(keys[0])")
        && lost.output.contains("bindpeer trust shop KEY"), "\(lost.output)")
    #expect(try users.run("bindpeer", ["trust", "shop", keys[1]], as: "long-away").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "shop", "get", "log.w0"], as: "long-away").code == 0)
    withExtendedLifetime(second) {}
  }

  @Test("a watch and a writer go through a change of their own key, and no write is lost")
  func memberKey() throws {
    let (hub, _) = try startHub()
    try join("anna", as: "guest")
    let path = users.configuration("guest") + "/bindbus/hubs/shop.key"
    let watch = try users.start("bindpeer", ["--hub", "shop", "watch", "log"], as: "guest")
    let writer = SteadyWriter(try users.start("bindpeer", ["--hub", "shop", "pipe", "log"], as: "guest"))
    try #require(watch.line { $0.contains("w0") } != nil, "\(watch.output)")
    let old = try String(contentsOfFile: path, encoding: .utf8)
    let rotated = try users.run("bindpeer", ["rotate", "shop", "--label", "laptop"], as: "guest")
    try #require(rotated.code == 0, "\(rotated.output)")
    let new = try String(contentsOfFile: path, encoding: .utf8)
    #expect(new != old && !new.contains("replaces"))
    let members = try users.run("bindhub", ["members"], as: "host").output.split(separator: "\n")
    #expect(members.count == 1 && members[0].hasSuffix("laptop"), "\(members)")
    #expect(rotated.output.contains(members[0].dropFirst("anna  ".count).prefix(40)), "\(rotated.output)")
    let after = writer.written
    try eventually("the writer goes on") { writer.written > after + 50 }
    let count = writer.stop()
    try #require(watch.line { $0.contains("w\(count - 1)") } != nil, "\(watch.output.suffix(5))")
    try expectAll(count, as: "guest")
    withExtendedLifetime(hub) {}
  }

  @Test("what is asked in vain has an answer with the next command")
  func refused() throws {
    let (hub, _) = try startHub()
    try join("anna", as: "guest")
    for (arguments, code, words) in [
      (["keys", "rotate", "--cancel"], Int32(1), "bindhub keys rotate"),
      (["keys", "rotate", "--now", "--cancel"], 64, "exclude each other"),
      (["keys", "rotate", "--in", "0s"], 64, "--now"),
    ] {
      let found = try users.run("bindhub", arguments, as: "host")
      #expect(found.code == code && found.output.contains(words), "\(arguments): \(found)")
    }
    let unknown = try users.run("bindpeer", ["rotate", "shpo"], as: "guest")
    #expect(unknown.code == 78 && unknown.output.contains("only shop"), "\(unknown)")
    #expect(try users.run("bindhub", ["revoke", "anna"], as: "host").code == 0)
    let revoked = try users.run("bindpeer", ["rotate", "shop"], as: "guest")
    #expect(revoked.code == 77 && revoked.output.contains("bindpeer join"), "\(revoked)")
    withExtendedLifetime(hub) {}
  }

  @Test("an invitation goes to a file of its own, which `join` reads; its end is told if the key changes before")
  func invitationFile() throws {
    let (hub, _) = try startHub()
    let file = users.bench.folder.appendingPathComponent("line").path
    let invited = try users.run("bindhub", ["invite", "anna", "--out", file], as: "host")
    #expect(invited.code == 0 && !invited.output.contains("bindbus1:"), "\(invited.output)")
    let again = try users.run("bindhub", ["invite", "ben", "--out", file], as: "host")
    #expect(again.code == 73 && again.output.contains("exists already"), "\(again.output)")
    let rotated = try users.run("bindhub", ["keys", "rotate", "--in", "1h"], as: "host")
    #expect(rotated.output.contains("end with the present key: anna"), "\(rotated.output)")
    let cut = try users.run("bindhub", ["invite", "ben"], as: "host")
    #expect(cut.output.contains("when the hub's key changes"), "\(cut.output)")
    #expect(try users.run("bindpeer", ["join", file], as: "guest").code == 0)
    withExtendedLifetime(hub) {}
  }
}
