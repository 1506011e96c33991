import BindingProtocol
import Simulation
import ZeroMQ

/// Whole CURVE handshakes with keys that nobody knows, each until the hub has refused it. They come from many
/// addresses: of one, the hub would let only some begin.
final class HandshakeAttack: Attack {
  let name: String
  let share: Int
  private let kind: Socket.Kind
  private let endpoint: String
  private let server: PublicKey
  private static let atOnce = 16

  init(_ kind: Socket.Kind, at endpoint: String, _ server: PublicKey) {
    name = "handshakes with an unknown key, \(kind == .sub ? "publish" : "request") port"
    share = 0
    (self.kind, self.endpoint, self.server) = (kind, endpoint, server)
  }

  func strike(_ chance: inout Chance) throws -> Int {
    let context = try Context(maximumSockets: 4 * HandshakeAttack.atOnce)
    var strangers: [Stranger] = []
    let place = endpoint.dropFirst("tcp://".count)
    let source = "127.\(1 + chance.below(254)).\(chance.below(256)).\(1 + chance.below(254))"
    for _ in 0..<HandshakeAttack.atOnce {
      strangers.append(try Stranger(kind, in: context, "tcp://\(source):0;\(place)", server))
    }
    var refused = 0
    for stranger in strangers where try stranger.isRefused() { refused += 1 }
    guard refused > 0 else { throw AttackError.otherEnd("no handshake was refused") }
    return refused
  }

  private final class Stranger {
    private let socket: Socket
    private var events: SocketEvents

    init(_ kind: Socket.Kind, in context: Context, _ endpoint: String, _ server: PublicKey) throws {
      socket = try Socket(kind, in: context)
      try socket.set([
        .encryptedClient(server: server, own: try .random()), .reconnectInterval(milliseconds: nil),
        .linger(milliseconds: 0),
      ])
      events = try SocketEvents(of: socket)
      try socket.connect(endpoint)
    }

    /// Waits at most 5 s. A handshake that succeeds ends the program: it is what must never be.
    func isRefused() throws -> Bool {
      var poller = Poller()
      _ = poller.add(events)
      let deadline = monotonicMilliseconds() + 5_000
      while monotonicMilliseconds() < deadline {
        while let event = try events.next() {
          switch event.change {
          case .handshakeFailed(.authentication(status: 400)): return true
          case .handshakeSucceeded: throw AttackError.otherEnd("LET IN")
          case .handshakeFailed, .disconnected, .closed: return false
          default: break
          }
        }
        _ = try poller.wait(timeoutMilliseconds: 100)
      }
      return false
    }
  }
}

/// Connections that end early, or never send what is expected.
final class RawAttack: Attack {
  let name: String
  let share: Int
  private let endpoint: String
  private let body: (RawConnection, inout Chance) throws -> Void
  /// Connections that stay open meanwhile, oldest first.
  private var held: [RawConnection] = []
  private let holds: Int

  /// - Parameter holds: so many connections stay open.
  init(
    _ name: String, _ endpoint: String, share: Int = 4, holds: Int = 0,
    _ body: @escaping (RawConnection, inout Chance) throws -> Void
  ) {
    (self.name, self.endpoint, self.share, self.holds, self.body) = (name, endpoint, share, holds, body)
  }

  func strike(_ chance: inout Chance) throws -> Int {
    let connection = try RawConnection(endpoint)
    try body(connection, &chance)
    guard holds > 0 else { return 1 }
    held.append(connection)
    if held.count > holds { held.removeFirst() }
    return 1
  }

  private static func noise(_ count: Int, _ chance: inout Chance) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
  }

  /// At the ports of ZeroMQ.
  static func atPorts(tcp: [String], ipc: [String]) -> [RawAttack] {
    let request = tcp[0]
    let numbered = zip(["request", "publish"], tcp)
    return numbered.flatMap { port, endpoint in
      [
        RawAttack("half CURVE handshakes, \(port) port", endpoint) { connection, chance in
          connection.send(RawConnection.greeting("CURVE"))
          _ = connection.receive(64)
          // HELLO has 200 bytes; a part of it, or all of it with wrong content.
          let hello = [4, 200, 5] + Array("HELLO".utf8) + [1, 0] + noise(192, &chance)
          connection.send(Array(hello.prefix(chance.below(2) == 0 ? chance.below(202) : 202)))
        },
        RawAttack("idle connections, \(port) port", endpoint, holds: 64) { _, _ in },
        RawAttack("noise, \(port) port", endpoint) { connection, chance in
          connection.send(noise(1 + chance.below(300), &chance))
        },
      ]
    } + [
      RawAttack("connections without encryption", request) { connection, _ in
        connection.send(RawConnection.greeting("NULL") + RawConnection.ready("DEALER"))
        _ = connection.receive(64)
      },
      RawAttack("clients of ZMTP 1 and 2", request) { connection, chance in
        connection.send(chance.below(2) == 0 ? [1, 0] : [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 1, 5, 0, 0])
      },
      RawAttack("endless messages, ipc", ipc[0]) { connection, chance in
        try connection.greet(as: "DEALER")
        let part: [UInt8] = chance.below(2) == 0 ? [1, 0] : [1, 200] + [UInt8](repeating: 7, count: 200)
        let many = Array(repeatElement(part, count: 1_000).joined())
        for _ in 0..<100 where !connection.send(many) { return }
        throw AttackError.otherEnd("100,000 parts were accepted")
      },
      RawAttack("data to the publish socket, ipc", ipc[1], share: 10) { connection, chance in
        try connection.greet(as: "SUB")
        for _ in 0..<20 {
          let bytes = noise(chance.below(200), &chance)
          connection.send([0, UInt8(bytes.count)] + bytes)
        }
      },
    ]
  }
}
