import ArgumentParser
import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Foundation
import Logging

/// Adds to one field of some models from several peers, and measures how long they had to wait.
struct Count: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add 1 to counter.count again and again, until standard input ends.",
    discussion: """
      A line on standard input ends a phase of this name. Prints a line of JSON for it, and one at the end: the
      additions that were acknowledged so far, how many peers have a hub, the longest time of the phase that any writer
      waited for an acknowledgement, the longest that one waits now, and the longest that any was without a hub.
      """)

  private struct Counter: Model {
    @Field(policy: .add) var count = 0
  }

  @Option(help: "The hubs, separated by commas.")
  var hub: String
  @Option(help: "Writers, each a peer of its own.")
  var writers = 6
  @Option(help: "Milliseconds from one addition of a writer to its next; 0: without a rest.")
  var every = 0
  @Option(help: "Models, counter, counter1, counter2 and so on; each writer adds in one of them.")
  var models = 1

  func run() async throws {
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = .error
      return handler
    }
    OpenFiles.raise()
    let waits = Waits(writers: writers)
    Thread.detachNewThread {
      while let line = readLine() { Count.tell(waits.end(phase: line)) }
      waits.stop()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<writers {
        group.addTask { try await count(number, waits) }
      }
      try await group.waitForAll()
    }
    Count.tell(waits.end(phase: "end"))
  }

  private static func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  private func count(_ number: Int, _ waits: Waits) async throws {
    let peer = try Peer(name: "writer-\(number)", hub: HubLocation(hub))
    let model = number % models
    let counter = try await peer.share(
      Counter.self, id: model == 0 ? "counter" : "counter\(model)", on: .direct, timeout: .seconds(30))
    let observer = peer.observeStatus { waits.note(number, hasHub: $0.isLive) }
    // Not all at once.
    if every > 0 { try await Task.sleep(for: .milliseconds(every * number / writers)) }
    while !waits.isStopped {
      waits.begin(number)
      let outcome = try await counter.$count.add(1).outcome(timeout: .seconds(60))
      guard case .committed? = outcome else {
        throw ValidationError("writer-\(number): an addition ended as \(outcome.map { "\($0)" } ?? "nothing")")
      }
      waits.acknowledge(number)
      if every > 0 { try await Task.sleep(for: .milliseconds(every)) }
    }
    observer.cancel()
    await peer.close()
  }
}

/// How long each writer waited for its acknowledgements, and was without a hub.
private final class Waits: @unchecked Sendable {  // SAFETY: everything that changes is touched only under `lock`
  private struct Writer {
    /// Since when it waits for an acknowledgement, and for a hub.
    var unacknowledged: ContinuousClock.Instant?
    var hubless: ContinuousClock.Instant?
    var hasHub = false
  }
  private let lock = NSLock()
  private var count = 0
  private var isOver = false
  private var writers: [Writer]
  private var longestPause = Duration.zero
  private var longestOutage = Duration.zero

  init(writers: Int) { self.writers = Array(repeating: Writer(), count: writers) }

  var isStopped: Bool { lock.withLock { isOver } }

  func stop() { lock.withLock { isOver = true } }

  func begin(_ writer: Int) { lock.withLock { writers[writer].unacknowledged = .now } }

  func acknowledge(_ writer: Int) {
    lock.withLock {
      count += 1
      look(at: writer)
      writers[writer].unacknowledged = nil
    }
  }

  func note(_ writer: Int, hasHub: Bool) {
    lock.withLock {
      guard writers[writer].hasHub != hasHub else { return }
      look(at: writer)
      writers[writer].hubless = hasHub ? nil : .now
      writers[writer].hasHub = hasHub
    }
  }

  private func look(at writer: Int) {
    if let since = writers[writer].unacknowledged { longestPause = max(longestPause, .now - since) }
    if let since = writers[writer].hubless { longestOutage = max(longestOutage, .now - since) }
  }

  /// Ends a phase; who waits now has waited in it.
  func end(phase: String) -> String {
    lock.withLock {
      for writer in writers.indices { look(at: writer) }
      let now = ContinuousClock.now
      let waiting = writers.compactMap { $0.unacknowledged.map { now - $0 } }.max() ?? .zero
      defer { (longestPause, longestOutage) = (.zero, .zero) }
      func milliseconds(_ time: Duration) -> JSON { .integer(Int64((time / .milliseconds(1)).rounded())) }
      return JSON.object([
        .init("phase", .string(phase)), .init("acknowledged", .integer(Int64(count))),
        .init("live", .integer(Int64(writers.count(where: \.hasHub)))),
        .init("longestPauseMilliseconds", milliseconds(longestPause)),
        .init("waitingMilliseconds", milliseconds(waiting)),
        .init("longestOutageMilliseconds", milliseconds(longestOutage)),
      ]).text
    }
  }
}
