import ArgumentParser
import BindingBridge
import BindingPeer
import BindingTerminal
import Dispatch
import Foundation
import Logging

/// Models and an MQTT broker.
struct MQTT: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Bridge models and an MQTT 3.1.1 broker, both ways.",
    discussion: """
      Each field of a model has three topics. Its value is retained as bindbus/MODEL/FIELD/state. What is published as \
      bindbus/MODEL/FIELD/set is written; if that is refused, the state is published again, and the reason as \
      bindbus/MODEL/FIELD/refused. bindbus/availability is online while the bridge has a hub.

      Text is published as it is, all else as JSON. Lists, secret fields and ephemeral models have no topics. An empty \
      text cannot be retained: it looks like no value.

      The bridge runs until a signal ends it, and reaches hub and broker again by itself. What is published with QoS 1 \
      to a set topic while it is away is written when it is back, if the broker keeps its session.
      """)

  @Option(help: "The broker: mqtt://[USER@]HOST[:PORT], or mqtts:// with TLS.")
  var broker = "mqtt://localhost"
  @Option(help: "A file with the password, which nobody else may read (chmod 600).")
  var passwordFile: String?
  @Option(help: "With mqtts: a file of certificates to trust, instead of the system's.")
  var authorities: String?
  @Option(help: "What all topics begin with.")
  var topics = "bindbus"
  @Option(help: "By which the broker knows this bridge again. Default: bindbridge, topics, models and host name.")
  var client: String?
  @Flag(help: "Tell Home Assistant of the fields, so that it shows controls for them (MQTT discovery).")
  var homeAssistant = false
  @Option(help: "With --home-assistant: the prefix of discovery that is set there.")
  var discovery = "homeassistant"
  @Option(help: "The hub: the name of one that was joined, or its address. Several, separated by commas, are tried.")
  var hub: String?
  @Option(help: "Name of this peer, which other peers see.")
  var name = "mqtt"
  @Argument(help: "MODEL or PREFIX/. Default: all models.")
  var models: [String] = [""]

  mutating func run() async throws {
    var logger = Logger(label: "bindbridge") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .info
    let configuration = try readConfiguration()
    let peer: Peer
    do {
      peer = try Peer(name: name, hub: hub.map { HubLocation($0) } ?? .default, logger: logger)
    } catch {
      throw ValidationError("\(error)")
    }
    let signals = Signals()
    let bridge = MQTTBridge(configuration, peer, logger: logger)
    let code = await signals.first
    await bridge.close()
    let counters = await bridge.counters
    logger.info(
      "ended",
      metadata: [
        "published": "\(counters.published)", "received": "\(counters.received)", "refused": "\(counters.refused)",
      ])
    await peer.close(flush: .seconds(1))
    throw ExitCode(code)
  }

  private func readConfiguration() throws -> MQTTBridge.Configuration {
    let address: MQTTAddress
    do throws(MQTTError) { address = try MQTTAddress(broker) } catch { throw ValidationError("\(error)") }
    guard let prefix = BridgeTopics(root: topics) else {
      throw ValidationError("--topics \(topics): name parts of a topic, without +, #, $ and empty parts")
    }
    for each in models where !MQTT.isAddress(each) {
      throw ValidationError("\(each) is neither a model, such as shop/kiosk-3, nor a prefix, such as shop/")
    }
    let host = ProcessInfo.processInfo.hostName.prefix { $0 != "." }
    let parts = ([topics] + models).flatMap { $0.split(separator: "/") } + [host]
    let own = "bindbridge-" + parts.joined(separator: "-")
    var configuration = MQTTBridge.Configuration(broker: address, client: client ?? own, topics: prefix)
    configuration.authorities = authorities
    configuration.models = models
    if homeAssistant { configuration.home = discovery }
    if let passwordFile { configuration.password = try MQTT.password(in: passwordFile) }
    return configuration
  }

  private static func isAddress(_ text: String) -> Bool {
    let id = text.hasSuffix("/") ? String(text.dropLast()) : text
    return text.isEmpty || id.wholeMatch(of: /[\w\-]+(\/[\w\-]+)*/) != nil
  }

  private static func password(in path: String) throws -> String {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    let text = try? String(contentsOfFile: path, encoding: .utf8)
    guard let rights = attributes?[.posixPermissions] as? Int, let text else {
      throw refused("The password file \(path) cannot be read.")
    }
    guard rights & 0o077 == 0 else { throw refused("Others can read the password file \(path): chmod 600 \(path)") }
    return text.trimmingCharacters(in: .newlines)
  }

  private static func refused(_ words: String) -> ExitCode {
    StandardStreams.complain(words)
    return ExitCode(78)
  }
}

/// The first signal that asks for the end. Made before anything that takes long.
struct Signals {
  private let sources: [any DispatchSourceSignal]
  private let stream: AsyncStream<Int32>

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    self.stream = stream
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { continuation.yield(number == SIGINT ? 130 : 0) }
      source.activate()
      return source
    }
  }

  /// The exit code that it asks for.
  var first: Int32 {
    get async {
      for await code in stream { return code }
      return 0
    }
  }
}
