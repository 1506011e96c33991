import BindbusTesting
import BindingPeer
import BindingProtocol
import Foundation
import Testing

private protocol Writing: Model {
  /// Makes one write that this release allows.
  func write(_ step: Int) throws -> [PendingWrite]
}

private struct Narrow: Writing {
  static let release = 1
  @Field(0...1, title: "Brightness") var brightness = 0.5
  @Field(choices: ["warm", "cold"]) var light = "warm"
  @Field(policy: .add) var count = 0

  func write(_ step: Int) throws -> [PendingWrite] {
    [
      try $brightness.write(Double(step % 2)), try $light.write(step % 2 == 0 ? "warm" : "cold"), try $count.add(1),
    ]
  }
}

private struct Wide: Writing {
  static let release = 2
  @Field(-1...9) var brightness = 0.5
  @Field(choices: ["cold", "day"]) var light = "day"
  @Field(policy: .add) var count = 0
  @Field var extra = 1

  func write(_ step: Int) throws -> [PendingWrite] {
    [
      try $brightness.write(Double(step % 10)), try $light.write(step % 2 == 0 ? "day" : "cold"), try $count.add(1),
      try $extra.write(step),
    ]
  }
}

private struct Renamed: Writing {
  static let release = 3
  @Field(0...20, title: "Level", was: "brightness") var level = 0.5
  @Field(choices: ["warm", "day", "night"]) var light = "night"
  @Field(policy: .add) var count = 0

  func write(_ step: Int) throws -> [PendingWrite] {
    [
      try $level.write(Double(step % 21)), try $light.write(["warm", "day", "night"][step % 3]), try $count.add(1),
    ]
  }
}

/// Three releases of one program at one hub, which is a process of its own. `BINDBUS_RELEASE_SECONDS` sets for how long
/// they write.
@Suite("Several releases of one program", .serialized)
struct ReleaseTests {
  private let bench: Bench
  private let hub: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
  }

  private static func peer(_ name: String, at hub: String) throws -> Peer {
    try Peer(name: name, hub: HubLocation(hub))
  }

  /// Shares the model and writes until `end`; returns how many times, and the outcomes that are no success.
  private static func work<Shared: Writing>(
    _ type: Shared.Type, at hub: String, until end: Date
  ) async throws -> (count: Int, failures: [String], peer: Peer, model: Shared) {
    let peer = try peer("\(type)", at: hub)
    let model = try await peer.share(type, id: "lamp", on: .direct, timeout: .seconds(20))
    var (step, failures): (Int, [String]) = (0, [])
    repeat {
      for write in try model.write(step) {
        switch await write.outcome {
        case .committed, .unchanged, .superseded: continue
        case let outcome: failures.append("\(outcome)")
        }
      }
      step += 1
    } while Date() < end
    return (step, failures, peer, model)
  }

  @Test("a narrower, a wider and a renaming release write at once: nothing is lost or refused, one description each")
  func threeReleases() async throws {
    let address = bench.hub
    let watcher = try Self.peer("watcher", at: address)
    let seen = try watcher.model("lamp")
    let descriptions = Protected(0)
    let token = seen.observe { update, _ in
      let count = update.commits.count { $0.changes.contains { $0.field == "@description" } }
      descriptions.withLock { $0 += count }
    }
    #expect(await seen.whenCurrent(timeout: .seconds(20)))
    let seconds = ProcessInfo.processInfo.environment["BINDBUS_RELEASE_SECONDS"].flatMap(Double.init) ?? 3
    let end = Date(timeIntervalSinceNow: seconds)
    async let one = Self.work(Narrow.self, at: address, until: end)
    async let two = Self.work(Wide.self, at: address, until: end)
    async let three = Self.work(Renamed.self, at: address, until: end)
    let (narrow, wide, renamed) = try await (one, two, three)
    #expect(narrow.failures.isEmpty && wide.failures.isEmpty && renamed.failures.isEmpty)
    let total = FieldValue(json: .integer(Int64(narrow.count + wide.count + renamed.count)))
    #expect(await eventually { seen["count"] == total }, "\(total) \(seen["count"]?.description ?? "none")")
    #expect(descriptions.withLock { $0 } <= 3)
    let description = seen.modelDescription
    #expect(description.release == 3 && description.aliases == ["level": "brightness"])
    let field = description.fields["brightness"]
    #expect(field?.minimum?.double == -1 && field?.maximum?.double == 20 && field?.title == "Level")
    #expect(Swift.Set(description.fields["light"]?.choices ?? []) == ["warm", "cold", "day", "night"])
    // Old and new release share one field.
    #expect(try await renamed.model.$level.write(1).committed > 0)
    #expect(await eventually { narrow.model.brightness == 1 && wide.model.brightness == 1 })
    withExtendedLifetime(token) {}
  }

  @Test("`bindpeer describe --apply` refuses with 3 and the values that do not fit; --anyway takes it, and they stay")
  func apply() async throws {
    let peer = try Self.peer("wide", at: bench.hub)
    let lamp = try await peer.share(Renamed.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(try await lamp.$level.write(7).committed > 0)
    let file = bench.folder.appendingPathComponent("narrow.json").path
    let field = #"{"type":"number","min":0,"max":1,"title":"B"}"#
    let narrow = #"{"fields":{"brightness":\#(field)},"alias":{"level":"brightness"}}"#
    try Data(narrow.utf8).write(to: URL(fileURLWithPath: file))
    let (code, output) = try bench.run("describe", "lamp", "--apply", file)
    #expect(code == 3 && output.contains("  lamp.brightness: 7 is not in 0...1"), "\(output)")
    let json = try bench.run("describe", "lamp", "--apply", file, "--json")
    #expect(
      json.code == 3
        && json.output.contains(
          #"{"model":"lamp","misfits":[{"address":"lamp.brightness","value":7.0,"problem":"7 is not in 0...1"}]}"#),
      "\(json.output)")
    #expect(try bench.run("describe", "lamp", "--apply", file, "--anyway").code == 0)
    #expect(try bench.run("describe", "lamp", "--json").output.contains(#""title":"B""#))
    // An alias is resolved, and shown.
    #expect(try bench.run("get", "lamp.level", "--raw").output == "7.0")
    #expect(try bench.run("set", "lamp.level=8").code == 65)
    #expect(try bench.run("set", "lamp.level=1").code == 0)
    #expect(try bench.run("get", "lamp.brightness", "--raw").output == "1")
    let described = try bench.run("describe", "lamp").output
    #expect(described.contains("brightness  number  0...1") && described.contains("also called level"), "\(described)")
    #expect(described.contains("count  not declared"), "\(described)")
    let meta = try bench.run("get", "lamp.level", "--meta").output
    #expect(meta.contains("titled \"B\"") && meta.contains("also called level"), "\(meta)")
    #expect(try bench.run("describe", "lamp", "--anyway").code == 64)
    #expect(try bench.run("describe", "lamp", "--apply", "\(file)-none").code == 64)
  }
}
