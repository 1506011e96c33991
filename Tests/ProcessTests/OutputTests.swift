import Foundation
import Testing

/// The contract for scripts: fields may be added, but none may disappear or change its name.
@Suite("JSON output", .serialized)
struct OutputTests {
  private let bench: Bench
  private let hub: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    try bench.run("set", "lamp.level=0.5", "lamp.on=true")
  }

  /// Returns the member names of a line; those of nested objects follow a dot.
  private func names(_ line: String) throws -> Set<String> {
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
    var names = Set(object.keys)
    for (name, inner) in object {
      for inner in (inner as? [String: Any] ?? [:]).keys { names.insert("\(name).\(inner)") }
    }
    return names
  }

  private func lastLine(_ arguments: [String]) throws -> String {
    let running = try RunningProcess(Bench.program("bindpeer"), arguments + ["--json"], hub: bench.hub)
    _ = running.end()
    return try #require(running.output.last { $0.hasPrefix("{") }, "\(running.output)")
  }

  @Test(
    "the JSON of each command has its documented fields",
    arguments: [
      (["set", "lamp.level=0.6"], ["model", "outcome", "version", "milliseconds"]),
      (["set", "lamp.level=0.6", "--if-version", "0"], ["model", "outcome", "field", "version", "value", "origin"]),
      (["get", "lamp"], ["model", "version", "values", "values.level", "values.on"]),
      (["get", "lamp", "--meta"], ["model", "version", "values", "meta", "meta.level", "meta.on"]),
      (["ls"], ["model", "version", "fields"]),
      (["describe", "lamp"], ["fields"]),
      (["ping"], ["number", "milliseconds"]),
      (["rm", "lamp.on"], ["model", "outcome", "version"]),
      (["watch", "lamp", "--for", "300ms"], ["model", "epoch", "version", "caughtUp", "folded", "changes"]),
      (["watch", "lamp", "--every", "1ms", "--for", "300ms"], ["model", "epoch", "version", "folded", "changes"]),
    ] as [([String], [String])])
  func fields(_ arguments: [String], _ expected: [String]) throws {
    let found = try names(lastLine(arguments))
    #expect(found.isSuperset(of: expected), "\(found.sorted())")
  }

  @Test("a watched commit has its documented fields, and --count ends the watch")
  func watchedCommit() throws {
    let watcher = try bench.start("watch", "lamp", "--json", "--count", "1")
    try #require(watcher.line { $0.contains("caughtUp") } != nil)
    try bench.run("set", "lamp.level=0.7")
    #expect(watcher.end() == 0)
    let line = try #require(watcher.output.last)
    #expect(
      try names(line).isSuperset(of: [
        "model", "epoch", "version", "origin", "time", "folded", "changes", "changes.level",
      ]))
  }

  @Test("the hub's status has its documented fields and every counter")
  func status() throws {
    let status = try RunningProcess(
      Bench.program("bindhub"), ["status", "--json", "--timeout", "20000"], hub: bench.hub)
    #expect(status.end() == 0)
    let found = try names(status.output.joined())
    let counters = [
      "framesReceived", "proposals", "commits", "changes", "batches", "unchanged", "conflicts", "expired", "repeats",
      "jumps", "retries", "unknownOutcomes", "malformedFrames", "staleStarts", "unknownSessions", "fencedSessions",
      "wrongSecrets", "otherProtocols", "otherDrafts", "sessionsRefused", "topicsRefused", "modelsRefused",
      "expiredLeases", "joins", "deltas", "snapshots", "routedJoins", "routedCommits", "headRequests", "raisedMarks",
      "newEpochs", "recoveries", "recoveredFields", "foldedCommits", "leftOut", "movedBatches", "unknownBatches",
      "fullAppends", "peersAhead", "joinsAhead", "modelsLetGo", "homesChosen", "passedOn", "takenBack", "forwarded",
      "forgottenIdentities", "refusals",
      "limitedConnections", "limitedSessions", "limitedModels", "limitedBytes", "limitedWrites", "limitedSubscriptions",
      "upstreamLosses", "otherUpstreams", "upstreamCatchups",
    ]
    let gate = [
      "rejectedMessages", "cutSubscribers", "slowConnections", "behindConnections", "unpublished", "refusedConnections",
      "cutMessages", "refusedKeys", "limitedAddresses",
    ]
    let own = [
      "name", "protocol", "logID", "epoch", "start", "durability", "insecure", "heartbeat", "sessions", "models",
      "counters", "gate", "disagreements", "limited", "store", "store.path", "store.bytes", "store.logBytes",
      "store.isFull",
    ]
    let expected = own + counters.map { "counters.\($0)" } + gate.map { "gate.\($0)" }
    #expect(Set(expected).subtracting(found).isEmpty)
  }
}
