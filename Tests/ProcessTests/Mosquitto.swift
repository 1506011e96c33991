import EtcdServer
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import BindingBridge

/// A broker of MQTT: mosquitto, which keeps what is retained and its sessions in a file every second.
final class Mosquitto {
  static let program = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/opt/homebrew/sbin/mosquitto"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  let port: Int
  private let configuration: String
  private var process: RunningProcess?

  /// - Parameter lines: more lines of its configuration.
  init(in folder: URL, _ lines: [String] = []) throws {
    port = try FreePorts.find(1)[0]
    let data = folder.appendingPathComponent("mosquitto-\(port)")
    try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
    configuration = folder.appendingPathComponent("mosquitto-\(port).conf").path
    let access = lines.contains { $0.hasPrefix("password_file") } ? "false" : "true"
    // As root it would become another user, who may not write here.
    let kept = ["persistence true", "persistence_location \(data.path)/", "autosave_interval 1"]
    let all = ["listener \(port) 127.0.0.1"] + lines + ["allow_anonymous \(access)", "user \(NSUserName())"] + kept
    try Data((all.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: configuration))
    try start()
  }

  func start() throws {
    let process = try RunningProcess(try #require(Mosquitto.program), ["-c", configuration, "-v"])
    self.process = process
    try #require(process.line { $0.contains("running") } != nil, "\(process.output)")
  }

  func kill() {
    process?.send(SIGKILL)
    _ = process?.end()
    process = nil
  }

  var address: MQTTAddress { get throws { try MQTTAddress("mqtt://127.0.0.1:\(port)") } }

  /// All that is retained.
  func retained() async throws -> [String: String] {
    var configuration = MQTTBridge.Configuration(
      broker: try address, client: "test", topics: try #require(BridgeTopics(root: "bindbus")))
    configuration.client = "test-\(UInt32.random(in: 0 ... .max))"
    let found = Mutex<Result<[String: [UInt8]], MQTTError>?>(nil)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let settings = configuration
    loop.execute {
      _ = RetainedScan(["#"]) { _ in true }.begin(settings, on: loop) { answer in found.withLock { $0 = answer } }
    }
    let end = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < end {
      if let answer = found.withLock({ $0 }) {
        return try answer.get().mapValues { String(decoding: $0, as: UTF8.self) }
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw MQTTError(description: "no answer of the broker")
  }
}

/// Somebody who publishes with QoS 1 until the broker has it, and sees all that is published.
final class MQTTUser: Sendable {
  private struct State {
    var connection: NIOLoopBound<MQTTConnection>?
    var isOpen = false
    /// What the broker has not acknowledged, in order.
    var waiting: [(id: UInt16, message: MQTTMessage)] = []
    var lastID: UInt16 = 1
    var seen: [String] = []
    var isEnded = false
  }

  private let address: MQTTAddress
  private let loop = MultiThreadedEventLoopGroup.singleton.next()
  private let state = Mutex(State())

  init(_ address: MQTTAddress) {
    self.address = address
    loop.execute { self.connect() }
  }

  /// Topic and payload of what came, `topic=payload`; not what was retained when the connection began.
  var seen: [String] { state.withLock { $0.seen } }

  var unacknowledged: Int { state.withLock { $0.waiting.count } }

  func publish(_ topic: String, _ payload: String) {
    loop.execute {
      let message = MQTTMessage(topic, Array(payload.utf8))
      let id = self.state.withLock { state in
        state.lastID = state.lastID == .max ? 2 : state.lastID + 1
        state.waiting.append((state.lastID, message))
        return state.isOpen ? state.lastID : nil
      }
      if let id { self.send(.publish(message, id: id)) }
    }
  }

  func end() {
    state.withLock { $0.isEnded = true }
    loop.execute { self.state.withLock { $0.connection }?.value.close() }
  }

  /// Waits for a message.
  func hasSeen(_ wanted: String) async -> Bool {
    let end = ContinuousClock.now + .seconds(20)
    while !seen.contains(wanted) {
      if ContinuousClock.now > end { return false }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return true
  }

  private func send(_ packet: MQTTPacket) { state.withLock { $0.connection }?.value.send(packet) }

  private func connect() {
    var connect = MQTTConnect(client: "user-\(UInt32.random(in: 0 ... .max))")
    connect.keepsSession = false
    let connection = MQTTConnection.open(address, connect, trusting: nil, on: loop) { [self] event in
      switch event {
      case .opened:
        send(.subscribe(1, ["#"]))
        let again = state.withLock { state in
          state.isOpen = true
          return state.waiting
        }
        for (id, message) in again { send(.publish(message, id: id)) }
      case .packet(.published(let id)): state.withLock { $0.waiting.removeAll { $0.id == id } }
      case .packet(.publish(let message, let id)):
        if id != 0 { send(.published(id)) }
        if !message.isRetained {
          state.withLock { $0.seen.append("\(message.topic)=\(String(decoding: message.payload, as: UTF8.self))") }
        }
      case .packet: break
      case .closed:
        let isEnded = state.withLock { state in
          state.isOpen = false
          return state.isEnded
        }
        if !isEnded { loop.scheduleTask(in: .milliseconds(20)) { self.connect() } }
      }
    }
    state.withLock { $0.connection = NIOLoopBound(connection, eventLoop: loop) }
  }
}
