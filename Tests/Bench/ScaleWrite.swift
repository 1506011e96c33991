import ArgumentParser
import BindingProtocol
import Foundation
import ZeroMQ

/// Writes single changes to many models in turn, one in a message. Each line that it reads gives a pace and a
/// duration: changes a second, 0 for as many as acknowledgements allow, and seconds.
struct ScaleWrite: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "write", shouldDisplay: false)
  @Option var kind = "hub"
  @Option var request: String
  /// A forwarder's publish endpoint; a hub reports its own.
  @Option var publish = ""
  @Option var models = 1

  /// Changes in flight in total, shared by the sessions.
  private static let window = 1_024

  func run() throws {
    let connection = try ScaleConnection(
      Contender(rawValue: kind) ?? .hub, request: request, publish: publish, models: models)
    var course = ScaleCourse(connection: connection, window: Self.window / ScaleConnection.sessionCount)
    if connection.kind == .hub { try course.nameFields() }
    report("ready \(connection.publish) " + connection.topics.map(String.init).joined(separator: ","))
    while let words = readLine()?.split(separator: " ").compactMap({ Double($0) }), words.count == 2 {
      let (rate, seconds) = (words[0], words[1])
      let begun = now()
      let before = course.sent
      if rate > 0 {
        try course.write(at: rate, for: seconds, from: begun)
      } else {
        try course.write(until: begun + UInt64(seconds * 1e9))
      }
      try connection.waitForAll()
      report("{\"sent\":\(course.sent - before),\"seconds\":\(Double(now() - begun) / 1e9)}")
    }
  }
}

/// What has been written so far.
private struct ScaleCourse {
  let connection: ScaleConnection
  let window: Int
  private(set) var sent = 0
  private var turn = 0
  private var writer = WireWriter()

  init(connection: ScaleConnection, window: Int) {
    self.connection = connection
    self.window = window
  }

  /// Every model has one field, of id 0: the first writer names it.
  mutating func nameFields() throws {
    for session in connection.sessions {
      for index in session.models.indices {
        while session.underWay >= window { try connection.receive(for: 1_000) }
        let named = WireOperation(verb: .set, field: .name("f0"), value: FieldValue(bytes: Array("0".utf8)))
        try connection.send(
          .propose([NumberedProposal(topic: session.models[index].topic, number: 1, confirmed: 0, operations: [named])]
          ),
          of: session)
        session.models[index].sent = 1
        session.underWay += 1
      }
      try connection.waitForAll()
    }
  }

  /// Writes one change to the next model of the next session with room; false when none has room.
  private mutating func put() throws -> Bool {
    for _ in connection.sessions {
      turn = (turn + 1) % connection.sessions.count
      let session = connection.sessions[turn]
      guard session.underWay < window else { continue }
      let index = session.next
      session.next = (index + 1) % session.models.count
      session.models[index].sent += 1
      frame(of: session.models[index], session.id)
      try writer.withUnsafeBytes { _ = try connection.dealer.send($0) }
      session.underWay += 1
      sent += 1
      return true
    }
    return false
  }

  /// A forwarder's frame has the same length and begins with its topic; the count of changes is at the same offset.
  private mutating func frame(of model: ScaleConnection.JoinedModel, _ session: SessionID) {
    writer.removeAll()
    if connection.kind == .hub {
      writer.u8(PeerMessageKind.propose.rawValue)
      writer.u64(session)
      writer.u32(connection.start)
    } else {
      writer.raw(Topics.bytes(model.topic))
      writer.u64(session)
      writer.u8(0)
    }
    writer.u16(1)
    writer.u32(model.topic)
    writer.u32(model.sent)
    writer.u32(model.acknowledged)
    // No flags, hops, metadata or conditions; one operation: set, a field, a value.
    writer.u32(0)
    writer.u16(1)
    writer.u8(Verb.set.rawValue)
    writer.u32(0)
    writer.u32(16)
    Frames.digits(now(), into: &writer)
  }

  mutating func write(until end: UInt64) throws {
    while now() < end {
      var hasRoom = true
      for _ in 0..<4 where hasRoom { hasRoom = try put() }
      try connection.receive(for: hasRoom ? 0 : 1_000)
    }
  }

  /// Writes by the clock, regardless of the hub; a change that finds no room is written as soon as there is some.
  mutating func write(at rate: Double, for seconds: Double, from begun: UInt64) throws {
    let (count, before) = (Int(rate * seconds), sent)
    while sent - before < count {
      let due = begun + UInt64(Double(sent - before) * 1e9 / rate)
      let present = now()
      if due > present {
        var rest = timespec(tv_sec: 0, tv_nsec: Int(min(due - present, 999_999_999)))
        nanosleep(&rest, nil)
      }
      let hasRoom = try put()
      try connection.receive(for: hasRoom ? 0 : 1)
    }
  }
}
