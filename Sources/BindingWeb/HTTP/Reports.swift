import BindingProtocol
import NIOCore
import NIOHTTP1

/// The status of gateway and hub, for programs: one JSON object, or Prometheus text.
enum Reports {
  /// The hub's report with one additional member, `web`.
  static func status(of loop: GatewayLoop, hub: JSON?) -> Answer {
    guard let hub, case .object(let members) = hub else {
      return .plainText(.serviceUnavailable, "The hub did not answer in time. Try again.", .hubSilent)
    }
    let text = JSON.object(members + [.init("web", web(loop))]).bytes
    return Answer(
      status: .ok, type: "application/json", body: ByteBuffer(bytes: text), headers: [Answer.notKept])
  }

  private static func web(_ loop: GatewayLoop) -> JSON {
    func object(_ list: [(name: String, value: UInt64)]) -> JSON {
      .object(list.map { .init($0.name, .unsigned($0.value)) })
    }
    return .object([
      .init("isLive", .bool(loop.isLive)), .init("openConnections", .integer(Int64(loop.connections.count))),
      .init("openPages", .integer(Int64(loop.openPages))), .init("gateway", object(loop.machineCounters.list)),
      .init("counters", object(loop.counters.list)),
      .init("refusals", object(loop.counters.refusals)),
      .init("isUnprotected", .bool(loop.configuration.isUnprotected)),
      .init("origin", .string(loop.router?.access.origin ?? "")),
      .init("certificate", loop.router?.access.tls?.report(at: WebEntry.now) ?? .null),
    ])
  }

  /// Gauges and counters, each with a bounded number of labels; without the hub's if it does not report.
  static func metrics(of loop: GatewayLoop, hub: JSON?) -> Answer {
    var text = MetricsText()
    text.gauge("bindbus_hub_up", hub == nil ? 0 : 1)
    text.gauge("bindbus_web_live", loop.isLive ? 1 : 0)
    text.gauge("bindbus_web_open_connections", UInt64(loop.connections.count))
    text.gauge("bindbus_web_pages", UInt64(loop.openPages))
    if let until = loop.router?.access.tls?.until {
      text.gauge("bindbus_web_certificate_expiry_timestamp_seconds", UInt64(max(0, until)))
    }
    for (name, value) in loop.machineCounters.list {
      text.counter("bindbus_gateway_\(MetricsText.snake(name))_total", value)
    }
    for (name, value) in loop.counters.list { text.counter("bindbus_web_\(MetricsText.snake(name))_total", value) }
    text.counter("bindbus_web_refusals_total", label: "reason", loop.counters.refusals)
    if let hub { write(hub, to: &text) }
    return Answer(
      status: .ok, type: "text/plain; version=0.0.4; charset=utf-8", body: ByteBuffer(string: text.text),
      headers: [Answer.notKept])
  }

  private static func write(_ hub: JSON, to text: inout MetricsText) {
    text.gauge("bindbus_hub_sessions", UInt64(hub["sessions"]?.elements?.count ?? 0))
    text.gauge("bindbus_hub_models", UInt64(hub["models"]?.elements?.count ?? 0))
    if let bytes = number(hub["store"]?["bytes"]) { text.gauge("bindbus_hub_store_bytes", bytes) }
    for member in hub["counters"]?.members ?? [] {
      if let value = number(member.value) {
        text.counter("bindbus_hub_\(MetricsText.snake(member.name))_total", value)
      } else if let codes = member.value.members {
        let list = codes.compactMap { code in number(code.value).map { (name: code.name, value: $0) } }
        text.counter("bindbus_hub_\(MetricsText.snake(member.name))_total", label: "code", list)
      }
    }
    for member in hub["gate"]?.members ?? [] {
      guard let value = number(member.value) else { continue }
      text.counter("bindbus_hub_gate_\(MetricsText.snake(member.name))_total", value)
    }
  }

  private static func number(_ json: JSON?) -> UInt64? { json?.int64.flatMap { UInt64(exactly: $0) } }
}

/// Lines in Prometheus's text format.
struct MetricsText {
  private(set) var text = ""

  mutating func gauge(_ name: String, _ value: UInt64) { text += "# TYPE \(name) gauge\n\(name) \(value)\n" }

  mutating func counter(_ name: String, _ value: UInt64) { text += "# TYPE \(name) counter\n\(name) \(value)\n" }

  /// One counter per label; the labels are fixed names.
  mutating func counter(_ name: String, label: String, _ list: [(name: String, value: UInt64)]) {
    text += "# TYPE \(name) counter\n"
    for (value, count) in list { text += "\(name){\(label)=\"\(value)\"} \(count)\n" }
  }

  /// `cutSubscribers` → `cut_subscribers`, `notUTF8` → `not_utf8`.
  static func snake(_ name: String) -> String {
    var result = ""
    var isAfterLower = false
    for letter in name {
      if letter.isUppercase, isAfterLower { result += "_" }
      isAfterLower = letter.isLowercase
      result += letter.lowercased()
    }
    return result
  }
}
