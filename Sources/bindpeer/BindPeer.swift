import ArgumentParser
import BindingPeer

/// `bindpeer`: read, write and watch shared models from a terminal.
@main
struct BindPeer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindpeer",
    abstract: "Read, write and watch models that processes share through a hub.",
    discussion: """
      An address is MODEL or MODEL.FIELD; a model id is a path like shop/kiosk-3, and shop/ means everything below.
      An assignment is MODEL.FIELD=VALUE (by the declared type, else JSON if it parses, else text), FIELD:=JSON,
      FIELD=@FILE, FIELD=- (standard input), FIELD+=NUMBER (added by the hub), FIELD! (toggles).
      Assignments to one model are one commit.

      Exit codes: 0 done, 1 the answer is no, 3 conflict or refusal, 64 usage, 65 the value does not fit, 69 no hub,
      73 the outbox cannot be used, 75 timed out, or kept in the outbox without an outcome, 130 interrupted.
      """,
    version: "bindpeer 0.1.0, protocol 0",
    subcommands: [
      Get.self, Set.self, Reset.self, Remove.self, Watch.self, Wait.self, List.self, Describe.self, Pipe.self,
      Ping.self, Bench.self,
    ])

  static func main() async {
    do {
      var command = try parseAsRoot()
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch let failure as Failure {
      Terminal.complain(failure.text)
      Terminal.leave(failure.code)
    } catch {
      exit(withError: error)
    }
  }
}

/// What every verb takes.
struct CommonOptions: ParsableArguments {
  @Option(
    name: .long,
    help: "The hub's address: ipc://PATH or tcp://HOST:PORT. Several, separated by commas, are tried in order.")
  var hub: String?

  @Flag(name: .long, help: "Print JSON, one object a line.")
  var json = false

  @Option(name: .long, help: "How long to wait for the hub and its answers, as 500ms, 5s or 2m.")
  var timeout: TimeSpan = TimeSpan(seconds: 5)

  @Option(name: .long, help: "The name under which others see this peer.")
  var name: String = "shell"

  @Option(
    name: .long,
    help: "Keep what is written in this file until it is decided, and send what an earlier run left there.")
  var outbox: String?

  /// The file that keeps what is written, if one was named.
  var outboxPath: String? { outbox ?? Terminal.environment("BINDPEER_OUTBOX") }

  /// Joins the hub, or says that there is none.
  func connect() async throws(Failure) -> Peer {
    let peer = try makePeer()
    guard await reachesHub(peer) else { throw noHub(peer) }
    return peer
  }

  /// Waits for the hub, and for the outcomes of what earlier runs left in the outbox; false without a hub.
  func reachesHub(_ peer: Peer) async -> Bool {
    let earlier = peer.restored
    guard await peer.whenLive(within: timeout.duration) else { return false }
    var sent = 0
    for restored in earlier {
      switch await restored.write.outcome(within: timeout.duration) {
      case .committed, .kept, .superseded: sent += 1
      case let outcome?: Terminal.complain("from the outbox: \(outcome.explanation(of: restored.model))")
      case nil: Terminal.complain("from the outbox: \(restored.model): no outcome yet; it stays there")
      }
    }
    if sent > 0 { Terminal.complain("from the outbox: \(sent) earlier write\(sent == 1 ? "" : "s") done") }
    return true
  }

  func makePeer() throws(Failure) -> Peer {
    let addresses = try addresses()
    if let path = outboxPath { return try openOutbox(path, addresses) }
    return try makePeer(name, addresses)
  }

  /// A peer without an outbox.
  func makePeer(_ name: String, _ addresses: [HubAddress]) throws(Failure) -> Peer {
    do throws(HubAddressError) {
      return try Peer(name: name, hubs: addresses, log: Terminal.logger)
    } catch {
      throw Failure(.usage, error.description)
    }
  }

  /// Where to look for a hub, in order.
  func addresses() throws(Failure) -> [HubAddress] {
    do throws(HubAddressError) {
      guard let hub else { return try HubAddress.fromEnvironment() }
      var addresses: [HubAddress] = []
      for part in hub.split(separator: ",") { addresses.append(try HubAddress(String(part))) }
      return addresses
    } catch {
      throw Failure(.usage, error.description)
    }
  }

  func openOutbox(_ path: String, _ addresses: [HubAddress]) throws(Failure) -> Peer {
    do {
      return try Peer(name: name, hubs: addresses, outbox: .file(path), log: Terminal.logger)
    } catch {
      throw Failure(.cannotCreate, "\(error)")
    }
  }

  func noHub(_ peer: Peer) -> Failure {
    if case .stopped(let reason) = peer.status.phase {
      if case .otherProtocol(let text) = reason {
        return Failure(.otherProtocol, "The hub speaks another protocol: \(text)")
      }
      return Failure(.conflict, "The hub ended this session: \(reason)")
    }
    let isDefault = hub == nil && Terminal.environment("BINDPEER_HUB") == nil
    let address = hub ?? Terminal.environment("BINDPEER_HUB") ?? HubAddress.userDefault.description
    return Failure(
      .noHub,
      """
      No hub answers at \(address)\(isDefault ? " (this user's default)" : "").
      Start one:  bindhub serve        Or name one:  bindpeer --hub tcp://host:7877 …
      """)
  }
}

/// A span of time as people write it: `500ms`, `5s`, `2m`, `1h`; a bare number counts seconds.
struct TimeSpan: ExpressibleByArgument {
  let milliseconds: UInt64
  var duration: Duration { .milliseconds(Int64(milliseconds)) }
  var defaultValueDescription: String {
    milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000)s" : "\(milliseconds)ms"
  }

  init(seconds: UInt64) { milliseconds = seconds * 1_000 }
  init(milliseconds: UInt64) { self.milliseconds = milliseconds }

  init?(argument: String) {
    let units: [(String, Double)] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("", 1_000)]
    for (unit, factor) in units where argument.hasSuffix(unit) {
      guard let number = Double(argument.dropLast(unit.count)), number >= 0, number * factor < 1e12 else { continue }
      milliseconds = UInt64(number * factor)
      return
    }
    return nil
  }
}
