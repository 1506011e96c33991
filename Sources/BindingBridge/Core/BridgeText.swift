import BindingPeer
package import BindingProtocol

/// Values as payloads, and payloads as values.
package enum BridgeText {
  /// Why a payload is no value of its field.
  package struct Fault: Error, Equatable { package let words: String }

  /// Text as it is, all else as JSON. An empty text cannot be retained: it is told like no value.
  package static func payload(of value: FieldValue) -> [UInt8] {
    if case .string(let text)? = try? value.json { return Array(text.utf8) }
    return value.bytes
  }

  /// The value of a payload: as the described type, else as that of the present value, else as JSON, else as text.
  package static func value(
    of payload: [UInt8], as described: FieldType?, present: FieldValue?
  ) throws(Fault) -> FieldValue {
    guard let text = String(validating: payload, as: UTF8.self) else { throw Fault(words: "it is not UTF-8") }
    switch described == .any ? nil : described ?? present.flatMap(type) {
    case .string?: return FieldValue(json: .string(text))
    case .boolean?:
      guard let value = truths[text.lowercased()] else {
        throw Fault(words: "\(excerpt(text)) is neither true nor false")
      }
      return FieldValue(json: .bool(value))
    case let type? where type != .any:
      guard let value = try? FieldValue(text: text.trimmed), let json = try? value.json, type.admits(json) else {
        throw Fault(words: "\(excerpt(text)) is no \(type.rawValue)")
      }
      return value
    default: return (try? FieldValue(text: text.trimmed)) ?? FieldValue(json: .string(text))
    }
  }

  private static func type(of value: FieldValue) -> FieldType? {
    guard let json = try? value.json else { return nil }
    return [FieldType.boolean, .integer, .number, .string, .array, .object].first { $0.admits(json) }
  }

  private static func excerpt(_ text: String) -> String {
    text.isEmpty ? "nothing" : PrintedText.escaped(text.count > 60 ? text.prefix(59) + "…" : text)
  }

  /// What devices and people send for a switch.
  private static let truths = [
    "true": true, "on": true, "yes": true, "1": true, "false": false, "off": false, "no": false, "0": false,
  ]
}

extension String {
  fileprivate var trimmed: String {
    var rest = Substring(self)
    while rest.first?.isWhitespace == true { rest.removeFirst() }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }
}
