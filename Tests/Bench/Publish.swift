import ArgumentParser
import BindingProtocol
import Foundation

/// The writer in comparisons, with the command line of the C clients in `Contenders`: as fast as acknowledgements
/// allow, or at a pace.
struct Publish: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "publish", shouldDisplay: false)
  @Option var kind: String
  @Option var request: String
  /// A forwarder's publish endpoint; a hub reports its own.
  @Option var publish = ""
  @Option var bytes = 32
  @Option var fields: FieldID = 16
  @Option var batch = 1
  @Option var seconds = 1.0
  @Option var rate = 0.0
  @Option var model = HubSessions.model
  @OptionGroup var keys: BenchKeys

  func validate() throws {
    guard Contender(rawValue: kind) != nil, bytes >= Stamp.leastBytes, fields > 0, (1...256).contains(batch),
      seconds > 0
    else {
      throw ValidationError("--kind takes hub or forwarder, --bytes 32 or more, --fields 1 or more, --batch 1 to 256")
    }
  }

  func run() throws {
    let writer = try Writer(
      Contender(rawValue: kind) ?? .hub, request: request, publish: publish, sessions: 4, model: model,
      fields: fields, options: keys.client())
    report("ready \(writer.publish) \(writer.prefix.map(String.init).joined(separator: ","))")
    guard readLine() != nil else { return }
    let start = now()
    var course = Course(writer: writer, bytes: bytes)
    try rate > 0 ? course.write(at: rate, for: seconds, from: start) : course.write(batch, until: start + nanoseconds)
    try waitForAll(of: writer)
    _ = try course.put(1, due: now(), isLast: true)
    try waitForAll(of: writer)
    report("{\"sent\":\(course.sent),\"seconds\":\(Double(now() - start) / 1e9)}")
  }

  private func waitForAll(of writer: Writer) throws {
    let deadline = now() + 60_000_000_000
    while !writer.isAllAcknowledged {
      guard now() < deadline else { throw NotAcknowledged() }
      try writer.receive(for: 100)
    }
  }

  private var nanoseconds: UInt64 { UInt64(seconds * 1e9) }

  struct NotAcknowledged: Error, CustomStringConvertible {
    var description: String { "not all changes were acknowledged" }
  }
}

/// What has been written so far.
private struct Course {
  let writer: Writer
  private var text: StampText
  private(set) var sent: UInt64 = 0

  init(writer: Writer, bytes: Int) {
    self.writer = writer
    text = StampText(bytes)
  }

  mutating func put(_ count: Int, due time: UInt64, isLast: Bool = false) throws -> Bool {
    var number = sent
    guard
      try writer.offer(
        count, bytes: text.bytes.count,
        value: {
          number += 1
          text.set(Stamp(time: time, number: number, isLast: isLast))
          $0.raw(text.bytes)
        })
    else { return false }
    sent += UInt64(count)
    return true
  }

  /// A change carries the time at which it was due, so a delayed writer shows in the delays.
  mutating func write(at rate: Double, for seconds: Double, from start: UInt64) throws {
    let count = UInt64(rate * seconds)
    while sent < count {
      var due = start + UInt64(Double(sent) * 1e9 / rate)
      sleep(until: due)
      let present = now()
      var hasRoom = true
      while sent < count, due <= present, hasRoom {
        try writer.receive(for: 0)
        hasRoom = try put(1, due: due)
        due = start + UInt64(Double(sent) * 1e9 / rate)
      }
      try writer.receive(for: hasRoom ? 0 : 1)
    }
  }

  mutating func write(_ batch: Int, until end: UInt64) throws {
    while now() < end {
      var hasRoom = true
      for _ in 0..<4 where hasRoom { hasRoom = try put(batch, due: now()) }
      try writer.receive(for: hasRoom ? 0 : 1_000)
    }
  }

  private func sleep(until moment: UInt64) {
    let present = now()
    guard moment > present else { return }
    var rest = timespec(
      tv_sec: Int((moment - present) / 1_000_000_000), tv_nsec: Int((moment - present) % 1_000_000_000))
    nanosleep(&rest, nil)
  }
}
