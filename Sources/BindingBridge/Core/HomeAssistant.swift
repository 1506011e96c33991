import BindingPeer
import BindingProtocol

/// What Home Assistant is told of a field, so that it shows a control for it without any configuration: MQTT discovery
/// (https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery).
package struct HomeAssistant: Equatable, Sendable {
  /// The prefix that Home Assistant looks under; `homeassistant` unless it was changed there.
  package let prefix: String
  private let topics: BridgeTopics

  package init(prefix: String, topics: BridgeTopics) { (self.prefix, self.topics) = (prefix, topics) }

  /// All topics under which devices are announced, those of others too.
  var all: String { "\(prefix)/+/+/+/config" }

  /// The model of which this bridge has announced a field under a topic; nil: it has not.
  func model(of topic: String) -> String? {
    let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
    let own = prefix.split(separator: "/").count
    let start = HomeAssistant.coded(topics.root + "/")
    guard parts.count == own + 4, topic.hasPrefix(prefix + "/"), parts.last == "config", parts[own + 1].hasPrefix(start)
    else { return nil }
    return HomeAssistant.decoded(parts[own + 1].dropFirst(start.count))
  }

  /// The topic and the payload that announce a field; nil: there is no control for it.
  func announcement(_ model: String, _ field: String, _ rule: FieldDescription) -> (topic: String, payload: [UInt8])? {
    guard let (component, members) = control(rule) else { return nil }
    let (node, object) = (HomeAssistant.coded("\(topics.root)/\(model)"), HomeAssistant.coded(field))
    var all: [JSON.Member] = [
      .init("name", .string(rule.title ?? field)), .init("unique_id", .string("\(node)_\(object)")),
      .init("state_topic", .string(topics.state(model, field))),
    ]
    if !component.hasSuffix("sensor") { all.append(.init("command_topic", .string(topics.set(model, field)))) }
    all += members
    all += [
      .init("availability_topic", .string(topics.availability)),
      .init(
        "device",
        .object([
          .init("identifiers", .array([.string(node)])), .init("name", .string(model)),
          .init("manufacturer", .string("Bindbus")),
        ])),
    ]
    return ("\(prefix)/\(component)/\(node)/\(object)/config", JSON.object(all).bytes)
  }

  /// The kind of the control, and what it is told of the field.
  private func control(_ rule: FieldDescription) -> (component: String, members: [JSON.Member])? {
    let unit = rule.unit.map { [JSON.Member("unit_of_measurement", .string($0))] } ?? []
    switch rule.type {
    case .boolean:
      let words: [JSON.Member] =
        [.init("payload_on", .string("true")), .init("payload_off", .string("false"))]
        + (rule.isReadOnly ? [] : [.init("state_on", .string("true")), .init("state_off", .string("false"))])
      return (rule.isReadOnly ? "binary_sensor" : "switch", words)
    case .string where !rule.choices.isEmpty && !rule.isReadOnly:
      return ("select", [.init("options", .array(rule.choices))])
    case .string where rule.isReadOnly: return ("sensor", [])
    case .string: return ("text", [.init("max", .integer(Int64(min(rule.maximumLength ?? 255, 255))))])
    case .number, .integer:
      guard !rule.isReadOnly, let minimum = rule.minimum, let maximum = rule.maximum else { return ("sensor", unit) }
      let step = rule.step ?? (rule.type == .integer ? .integer(1) : .number(0.001))
      return ("number", [.init("min", minimum), .init("max", maximum), .init("step", step)] + unit)
    case .array, .object, .any: return nil
    }
  }

  /// A path in letters, digits, `_` and `-`, which are all that a part of such a topic may have. Two paths never become
  /// the same.
  private static func coded(_ path: String) -> String {
    path.reduce(into: "") { coded, next in
      switch next {
      case "_": coded += "__"
      case "/": coded += "_-"
      case _ where next.isASCII && (next.isLetter || next.isNumber || next == "-"): coded.append(next)
      default: coded += next.unicodeScalars.map { "_u\(String($0.value, radix: 16))u" }.joined()
      }
    }
  }

  /// The model's id that was coded so.
  private static func decoded(_ coded: Substring) -> String {
    var (rest, path) = (coded, "")
    while let next = rest.popFirst() {
      guard next == "_", let second = rest.popFirst() else {
        path.append(next)
        continue
      }
      path.append(second == "-" ? "/" : second)
    }
    return path
  }
}
