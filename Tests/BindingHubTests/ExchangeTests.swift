import BindingHub
import BindingProtocol
import Foundation
import Testing

/// Replays the conversation of docs/reference/vectors/exchange, which protocol.md explains byte by byte, to a
/// machine. `BINDBUS_WRITE_VECTORS=1` rewrites the file.
@Suite("The worked exchange of the protocol page")
struct ExchangeTests {
  private static let file = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("docs/reference/vectors/exchange/first-write.json")

  /// One step: what was done, and its bytes.
  private struct Step: Codable, Equatable {
    /// `says`: the peer, on its request connection; `subscribes`: on its publish connection; `hears` and `reads`:
    /// what arrives on the one and on the other; `waits`: milliseconds.
    var does: String
    var message: String?
    var hex: String?
    var milliseconds: UInt64?
  }

  private struct Script: Codable, Equatable {
    var about: String
    var secret: String
    var steps: [Step]
  }

  @Test("the worked exchange is what a hub and a peer send, byte for byte")
  func exchange() throws {
    let made = try ExchangeTests.conversation()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    if ProcessInfo.processInfo.environment["BINDBUS_WRITE_VECTORS"] == "1" {
      try FileManager.default.createDirectory(
        at: ExchangeTests.file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try (encoder.encode(made) + Data("\n".utf8)).write(to: ExchangeTests.file)
    }
    let kept = try JSONDecoder().decode(Script.self, from: Data(contentsOf: ExchangeTests.file))
    #expect(kept.about == made.about && kept.secret == made.secret)
    for (kept, made) in zip(kept.steps, made.steps) { #expect(kept == made) }
    #expect(kept.steps.count == made.steps.count)
  }

  /// A peer that says hello, joins `lamp`, sets `level` to 0.8, receives the commit, and leaves.
  private static func conversation() throws -> Script {
    let secret = Secret(high: 0x0706_0504_0302_0100, low: 0x0F0E_0D0C_0B0A_0908)
    let tag = try #require(Tag("9e74ba8cf0038f7f"))
    let session: SessionID = 0x8877_6655_4433_2211
    let lamp = Topics.firstModel
    var hub = Hub()
    hub.sends(.hello(Hello(identity: Identity(tag: tag, secret: secret, name: "kitchen"))), in: session, start: 0)
    hub.subscribes(Topics.sessionTopic(session), Topics.bytes(Topics.heartbeat))
    hub.sends(.join([Join(request: 1, model: "lamp")]), in: session)
    hub.subscribes(Topics.bytes(lamp))
    hub.sends(
      .propose([
        NumberedProposal(
          topic: lamp, number: 1,
          operations: [WireOperation(verb: .set, field: .name("level"), value: FieldValue(bytes: Array("0.8".utf8)))])
      ]), in: session)
    hub.waits(1_000)
    hub.sends(.alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: lamp, confirmed: 1, applied: 1)])), in: session)
    hub.sends(.leave(Leave()), in: session)
    return Script(
      about: "A peer named kitchen says hello, joins lamp, sets level to 0.8, and leaves. The hub is new.",
      secret: "000102030405060708090a0b0c0d0e0f", steps: hub.steps)
  }

  /// A hub's machine in memory, and the messages to and from it.
  private struct Hub {
    private static let start: StartNumber = 0x0403_0201
    private var machine: HubMachine
    private let store = LogStore()
    private var now: UInt64 = 1_000
    private(set) var steps: [Step] = []

    init() {
      var configuration = HubMachineConfiguration()
      configuration.name = "hub"
      configuration.endpoints = [HubEndpoint(request: "ipc:/run/hub.sock", publish: "ipc:/run/hub.sock.pub")]
      machine = HubMachine(
        configuration: configuration,
        birth: HubBirth(logID: 0x10, epoch: 1 << 32 | 7, start: Hub.start, tailProven: true),
        time: HubTime(monotonic: now, wall: 0), epochSeed: 1)
    }

    mutating func sends(_ message: PeerMessage, in session: SessionID, start: StartNumber = Hub.start) {
      let frame = message.encode(session: session, start: start)
      record("says", frame, message.kind.name.description)
      act { machine, time, output in
        frame.withUnsafeBytes { machine.receive($0, on: 1, time: time, into: &output) }
      }
    }

    mutating func subscribes(_ topics: [UInt8]...) {
      for topic in topics { record("subscribes", topic) }
      act { machine, time, output in
        for topic in topics {
          topic.withUnsafeBytes { machine.subscribed($0, by: 2, time: time, into: &output) }
        }
      }
    }

    mutating func waits(_ milliseconds: UInt64) {
      now += milliseconds
      steps.append(Step(does: "waits", milliseconds: milliseconds))
      act { machine, time, output in machine.tick(time: time, into: &output) }
    }

    private mutating func record(_ does: String, _ bytes: [UInt8], _ message: String? = nil) {
      let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      steps.append(Step(does: does, message: message, hex: hex))
    }

    private mutating func act(_ body: (inout HubMachine, HubTime, inout HubOutput) -> Void) {
      var output = HubOutput()
      let time = HubTime(monotonic: now, wall: 1_795_260_576_000 + now)
      body(&machine, time, &output)
      machine.finishDrain(time: time, into: &output)
      while !output.batches.isEmpty {
        let batches = output.batches
        output.batches.removeAll()
        do {
          machine.appended(try store.append(batches), of: batches, time: time, into: &output)
        } catch {
          Issue.record("the store failed: \(error)")
        }
      }
      var received: [(String, [UInt8])] = []
      output.forEachFrame { destination, frame in
        received.append((destination == .publish ? "reads" : "hears", Array(frame)))
      }
      for (does, frame) in received {
        let name = frame.withUnsafeBytes { (try? HubMessage.decode($0))?.1.kind.name.description }
        record(does, frame, name ?? "?")
      }
    }
  }
}
