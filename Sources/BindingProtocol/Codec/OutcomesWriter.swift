/// Collects the outcomes of one session while a batch is decided. Consecutive commits become one entry.
package struct OutcomesWriter: Sendable {
  private var body = WireWriter()
  private var count = 0
  private var run: Run?

  private struct Run {
    var topic: Topic
    var number: ProposalNumber
    var version: Version
    var count: UInt16
  }

  /// Makes an empty writer.
  package init() {}

  /// Whether there is no outcome yet.
  package var isEmpty: Bool { count == 0 && run == nil }
  /// The length of the message so far, without header, in bytes.
  package var byteCount: Int { 18 + body.count + (run == nil ? 0 : 19) }
  /// Whether no further outcome fits into one message: finish it first.
  package var isFull: Bool { count >= Int(UInt16.max) - 1 }

  /// Drops all outcomes.
  package mutating func removeAll() {
    body.removeAll()
    count = 0
    run = nil
  }

  /// Adds `count` proposals, numbered from `number` on, that became as many versions, from `version` on.
  package mutating func committed(_ topic: Topic, _ number: ProposalNumber, version: Version, count: UInt16 = 1) {
    if var run, run.topic == topic, run.count <= UInt16.max - count, run.number &+ UInt32(run.count) == number,
      run.version &+ UInt64(run.count) == version
    {
      run.count += count
      self.run = run
      return
    }
    flush()
    run = Run(topic: topic, number: number, version: version, count: count)
  }

  /// Adds any outcome.
  package mutating func append(_ outcome: WireOutcome) {
    flush()
    outcome.write(to: &body)
    count += 1
  }

  /// Appends the whole frame to `writer` and empties this writer.
  package mutating func finish(session: SessionID, epoch: Epoch, start: StartNumber, into writer: inout WireWriter) {
    flush()
    HubHeader(topic: Topics.none, kind: .outcomes, start: start).write(to: &writer)
    writer.u64(session)
    writer.u64(epoch)
    writer.count16(count)
    body.withUnsafeBytes { writer.raw($0) }
    removeAll()
  }

  private mutating func flush() {
    guard let run else { return }
    WireOutcome(topic: run.topic, number: run.number, .committed(count: run.count, version: run.version))
      .write(to: &body)
    count += 1
    self.run = nil
  }
}
