import BindbusTesting
import BindingHub
import BindingKeys
import BindingPeer
import BindingProtocol
import Foundation
import Logging
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
}

/// A hub with keys in a folder of its own, whose file of rights limits this user.
private final class LimitedHub {
  let folder = NSTemporaryDirectory() + "limited-\(UInt32.random(in: 0 ... .max))"
  let hub: Hub

  /// - Parameter role: what this user may do.
  init(_ role: String) throws {
    let keys = HubKeys(in: folder)
    _ = try keys.create()
    try keys.createAccess(
      #"{"bindbus": "access", "version": 1, "roles": {"role": \#(role)}, "members": {"uid:\#(geteuid())": ["role"]}}"#)
    var configuration = Hub.Configuration()
    configuration.listen = [try HubAddress("ipc://\(folder)/s")]
    configuration.keys = folder
    hub = try Hub(
      configuration: configuration, logger: Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
  }

  deinit {
    hub.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  func share() async throws -> (Peer, Lamp) {
    let peer = try Peer(name: "sensor", hub: .at(hub.addresses))
    return (peer, try await peer.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20)))
  }
}

@Suite("A peer that may not write everything", .timeLimit(.minutes(2)))
struct RightsTests {
  @Test("a program that may write one field describes nothing, writes that default, and is refused nothing")
  func oneField() async throws {
    let limited = try LimitedHub(#"{"write": ["lamp.level"], "fanout": true}"#)
    let (_, lamp) = try await limited.share()
    #expect(await eventually { if case .current(let version) = lamp.$level.status { version > 0 } else { false } })
    #expect(!lamp.status.isReadOnly && !lamp.$level.isReadOnly && lamp.$on.isReadOnly)
    _ = try await lamp.$level.write(0.5).committed
    // What was written before is decided by now.
    #expect(lamp.status.version == 2 && lamp.status.problems.isEmpty)
    await #expect(throws: (any Error).self) { try await lamp.$on.write(true).committed }
    #expect(lamp.on == false)
  }

  @Test("a program that may only read writes nothing, and its status says so")
  func readOnly() async throws {
    let limited = try LimitedHub(#"{"read": ["*"]}"#)
    let (_, lamp) = try await limited.share()
    #expect(lamp.status.isReadOnly && lamp.$level.isReadOnly)
    #expect(lamp.status.description == "current, version 0; read-only")
    #expect(lamp.level == 0.3)
    let outcome = await (try lamp.$level.write(0.9)).outcome
    guard case .refused(let refusal) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(refusal.code == .notPermitted && lamp.level == 0.3)
  }

  @Test("a program that may not read the model has its writes refused")
  func nothing() async throws {
    let limited = try LimitedHub(#"{"read": ["other"]}"#)
    let (_, lamp) = try await limited.share()
    #expect(lamp.status.refusal?.code == .notPermitted)
    let outcome = await (try lamp.$level.write(0.9)).outcome
    guard case .refused(let refusal) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(refusal.code == .notPermitted)
    #expect(await eventually { lamp.level == 0.3 })
  }
}
