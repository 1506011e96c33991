import ArgumentParser
import BindingKeys
import BindingPeer
import BindingProtocol
import Foundation
import Logging
import Simulation

/// One or more peers that write by a seed until they are told to rest, and record histories.
struct Work: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write to a hub what a seed says, and keep a history.",
    discussion: """
      Standard input: 'rest' stops writing, 'go' goes on, 'look' prints a line of JSON about each peer, 'end' writes \
      down what every model shows, closes the peers and ends. The end of standard input ends at once.
      """)

  enum Style: String, ExpressibleByArgument, CaseIterable { case mixed, storm, plain }

  @Option(help: "The peer's name; of several, the n-th has '-n' behind it.")
  var name = "worker"
  @Option(help: "The history's file; of several peers, the n-th has '-n' in front of its '.jsonl'.")
  var history: String
  @Option(help: "Where the hub is, as BINDPEER_HUB; or the name of one that this user has joined.")
  var hub: [String] = []
  @Option(help: "A file that keeps what has no outcome.")
  var outbox: String?
  @Option(help: "What to write.")
  var seed: UInt64 = 1
  @Option(help: "Writes a second, at most.")
  var rate = 100
  @Option(help: "'mixed': all kinds of writes. 'storm': increments of one field by comparison. 'plain': sets and adds.")
  var style = Style.mixed
  @Option(help: "How many peers.")
  var peers = 1

  func validate() throws {
    if !(1...1_000).contains(peers) { throw ValidationError("--peers takes 1 to 1000") }
    if !(1...100_000).contains(rate) { throw ValidationError("--rate takes 1 to 100000") }
    if peers > 1, outbox != nil { throw ValidationError("--outbox is for one peer") }
  }

  func run() async throws {
    let location =
      hub.isEmpty
      ? HubLocation.default : KnownHub.isName(hub[0]) ? .named(hub[0]) : .at(try hub.map { try HubAddress($0) })
    var log = Logger(label: "bindlab") { StreamLogHandler.standardError(label: $0) }
    log.logLevel = .error
    var workers: [Worker] = []
    for number in 1...peers {
      let suffix = peers == 1 ? "" : "-\(number)"
      let peer = try Peer(
        name: name + suffix, hub: location, configuration: .init(outbox: outbox.map { .file($0) } ?? .memory),
        logger: log)
      let writer = try HistoryWriter(
        path: history.hasSuffix(".jsonl") ? history.dropLast(6) + suffix + ".jsonl" : history + suffix)
      workers.append(
        try await Worker(
          peer, writer, seed: seed &* 1_000 &+ UInt64(number), rate: rate, keepsOutbox: outbox != nil,
          isPlain: style == .plain))
    }
    FileHandle.standardOutput.write(Data("working\n".utf8))
    for worker in workers { worker.start(style) }
    for await command in Work.commands {
      switch command {
      case "rest": for worker in workers { worker.isResting.withLock { $0 = true } }
      case "go": for worker in workers { worker.isResting.withLock { $0 = false } }
      case "look":
        let line = JSON.array(workers.map(\.look)).text + "\n"
        FileHandle.standardOutput.write(Data(line.utf8))
      case "end":
        for worker in workers { worker.isResting.withLock { $0 = true } }
        for worker in workers { await worker.end() }
        return
      default: FileHandle.standardError.write(Data("bindlab: '\(command)'? rest, go, look or end\n".utf8))
      }
    }
    Foundation.exit(0)
  }

  /// The lines of standard input.
  static var commands: AsyncStream<String> {
    AsyncStream { continuation in
      Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }
}
