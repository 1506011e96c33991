import Simulation

extension RawAttack {
  /// At the port of the pages.
  static func atPages(_ endpoint: String) -> [RawAttack] {
    let host = "Host: \(endpoint.dropFirst(6))\r\n"
    func text(_ connection: RawConnection, _ text: String) { connection.send(Array(text.utf8)) }
    return [
      RawAttack("HTTP of noise", endpoint) { connection, chance in
        text(connection, "GET /")
        connection.send((0..<chance.below(400)).map { _ in UInt8(truncatingIfNeeded: chance.next()) })
        text(connection, "\r\n\r\n")
        _ = connection.receive(1)
      },
      RawAttack("HTTP with guessed tokens and codes", endpoint) { connection, chance in
        let guess = String(chance.next(), radix: 16)
        text(connection, "GET /?\(["code", "token"][chance.below(2)])=\(guess) HTTP/1.1\r\n\(host)")
        text(connection, "Authorization: Bearer \(guess)\r\nCookie: bindbus-session=\(guess)\r\n\r\n")
        _ = connection.receive(1)
      },
      RawAttack("WebSockets without a session", endpoint) { connection, chance in
        text(connection, "GET /bind HTTP/1.1\r\n\(host)Upgrade: websocket\r\nConnection: Upgrade\r\n")
        text(connection, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        connection.send((0..<chance.below(100)).map { _ in UInt8(truncatingIfNeeded: chance.next()) })
        _ = connection.receive(1)
      },
      RawAttack("requests that never end", endpoint, holds: 100) { connection, chance in
        text(connection, "GET / HTTP/1.1\r\n\(host)X: \(chance.next())")
      },
    ]
  }
}
