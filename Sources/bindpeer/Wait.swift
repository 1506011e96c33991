import ArgumentParser
import BindingPeer
import BindingTerminal
import Dispatch

/// Waits for a condition.
struct Wait: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Wait until all conditions hold.",
    discussion: """
      Conditions; quote < and >, which the shell interprets:
        MODEL.FIELD=VALUE     MODEL.FIELD!=VALUE
        'MODEL.FIELD<N'       'MODEL.FIELD>N'
        'MODEL.FIELD<=N'      'MODEL.FIELD>=N'
        MODEL.FIELD~REGEX     its text, or its JSON, contains a match
        MODEL.FIELD           has a value

      If the model's description does not allow the value, wait fails at once with exit code 65. --timeout limits \
      the whole wait; exit code 75 means that it has passed.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL.FIELD=VALUE …")
  var conditions: [String]
  @Flag(help: "Wait for ephemeral fields, which exist as long as the peer that wrote them.")
  var ephemeral = false

  mutating func run() async throws {
    let wanted = try conditions.map { text throws(Failure) in try WaitCondition(text) }
    let end = DispatchTime.now() + .milliseconds(Int(common.timeout.milliseconds))
    let peer = try await common.connect(patiently: true)
    var pairs: [(condition: WaitCondition, model: SharedModel, described: SharedModel)] = []
    for condition in wanted {
      let model = try peer.model(condition.address.model)
      pairs.append((condition, ephemeral ? model.ephemeral : model, model))
    }
    let (updates, bell) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let tokens = pairs.flatMap { pair in
      [pair.model, pair.described].map { $0.observe { _, _ in bell.yield(true) } }
    }
    let watching = peer.observeStatus { _ in bell.yield(true) }
    let joining = Task { [common] in
      let reader = ModelReader(peer: peer, timeout: common.timeout)
      for model in Swift.Set(wanted.map(\.address.model)).sorted() {
        if let words = await reader.refusal(of: model) { Terminal.complain("\(words) Waiting anyway.") }
      }
    }
    defer { joining.cancel() }
    bell.yield(true)
    DispatchQueue.global().asyncAfter(deadline: end) { bell.finish() }
    var warned: Swift.Set<String> = []
    var holds = false
    for await _ in updates {
      if case .stopped(let reason) = peer.status.phase { throw reason.failure }
      holds = pairs.allSatisfy { $0.condition.holds(in: $0.model) }
      if holds { break }
      for (condition, model, described) in pairs where described.isCurrent && !condition.holds(in: model) {
        try condition.checkPossible(under: described.modelDescription)
        guard warned.insert(condition.address.description).inserted,
          let hint = FieldHint(of: condition.address, in: described, values: model.values)
        else { continue }
        Terminal.complain("\(hint.words) Waiting anyway.")
      }
    }
    withExtendedLifetime((tokens, watching)) {}
    guard holds else {
      let milliseconds = common.timeout.milliseconds
      throw Failure(.timedOut, "Not fulfilled within \(milliseconds) ms: \(excerpt(conditions.joined(separator: " ")))")
    }
    await peer.close(flush: .zero)
  }
}

/// One condition of `wait`.
struct WaitCondition {
  enum Comparison: String, CaseIterable {
    case different = "!="
    case atMost = "<="
    case atLeast = ">="
    case equal = "="
    case less = "<"
    case more = ">"
    case match = "~"

    func holds(_ left: Double, _ right: Double) -> Bool {
      switch self {
      case .different: left != right
      case .atMost: left <= right
      case .atLeast: left >= right
      case .equal: left == right
      case .less: left < right
      case .more: left > right
      case .match: false
      }
    }
  }
  let address: Address
  /// Nil: the condition is that a value exists.
  let comparison: Comparison?
  let value: JSON

  init(_ text: String) throws(Failure) {
    // An address contains none of these characters outside of brackets: the first of them begins the comparison.
    guard let start = text[Address.leastEnd(in: text)...].firstIndex(where: { "!<>=~".contains($0) }) else {
      (comparison, value) = (nil, .null)
      address = try WaitCondition.address(text[...], in: text)
      return
    }
    let rest = text[start...]
    guard let comparison = Comparison.allCases.first(where: { rest.hasPrefix($0.rawValue) }) else {
      throw Failure(.usage, "'\(excerpt(text))' has no valid comparison: use = != < > <= >= or ~")
    }
    let right = String(rest.dropFirst(comparison.rawValue.count))
    self.comparison = comparison
    value = comparison == .match ? .string(right) : (try? JSON(parsing: right)) ?? .string(right)
    if comparison == .match, (try? Regex(right)) == nil {
      throw Failure(.usage, "'\(excerpt(text))': what is behind ~ is no regular expression")
    }
    address = try WaitCondition.address(text[..<start], in: text)
    if isOfNumbers, value.double == nil {
      throw Failure(
        .usage, "'\(excerpt(text))': \(comparison.rawValue) compares numbers, and the value is not a number")
    }
  }

  private static func address(_ target: Substring, in text: String) throws(Failure) -> Address {
    let address = try Address(String(target))
    guard address.field != nil else { throw Failure(.usage, "'\(excerpt(text))' names no field") }
    return address
  }

  private var isOfNumbers: Bool {
    switch comparison {
    case .less, .more, .atMost, .atLeast: true
    case .equal, .different, .match, nil: false
    }
  }

  private func matches(_ json: JSON) -> Bool {
    guard let pattern = value.string, let regex = try? Regex(pattern) else { return false }
    return (json.string ?? json.description).contains(regex)
  }

  func holds(in model: SharedModel) -> Bool {
    guard model.isCurrent else { return false }
    return holds(for: address.stored(in: model).value(in: model).flatMap { try? $0.json })
  }

  func holds(for json: JSON?) -> Bool {
    guard let json else { return false }
    guard let comparison else { return true }
    if comparison == .match { return matches(json) }
    if let left = json.double, let right = value.double, isOfNumbers || json != value {
      return comparison.holds(left, right)
    }
    switch comparison {
    case .equal: return json == value
    case .different: return json != value
    case .less, .more, .atMost, .atLeast, .match: return false
    }
  }

  /// Throws if the description allows no value for which the condition holds.
  func checkPossible(under description: ModelDescription) throws(Failure) {
    guard let field = address.field, address.element == nil, let declared = description.fields[field],
      let comparison
    else { return }
    switch comparison {
    case .different, .match: return
    case .equal:
      guard let allowed = declared.allowed(insteadOf: value) else { return }
      throw never("=", allowed)
    case .less, .more, .atMost, .atLeast:
      if ![.any, .number, .integer].contains(declared.type) {
        throw never(comparison.rawValue, declared.type.words)
      }
      let isUpward = comparison == .more || comparison == .atLeast
      guard let wanted = value.double, let bound = (isUpward ? declared.maximum : declared.minimum)?.double,
        !comparison.holds(bound, wanted)
      else { return }
      let limit = isUpward ? "...\(bound)" : "\(bound)..."
      throw never(comparison.rawValue, declared.allowed(insteadOf: value) ?? limit)
    }
  }

  private func never(_ comparison: String, _ allowed: String) -> Failure {
    Failure(
      .doesNotFit,
      "\(address.description) \(comparison) \(excerpt(value.text)) is impossible: its description allows \(allowed).")
  }
}

/// A hint for a field name that is in neither the model's description nor its values, but is near one that is.
struct FieldHint {
  let words: String

  init?(of address: Address, in model: SharedModel, values: [String: FieldValue]) {
    let described = model.modelDescription.fields
    guard let name = address.field else { return nil }
    let field = model.storedName(of: name)
    guard !described.isEmpty, described[field] == nil, values[field] == nil,
      !field.hasPrefix("@"), let near = nearest(to: field, among: described.keys)
    else { return nil }
    words =
      "\(address.description) is not in the description of \(address.model). Did you mean \(address.model).\(near)?"
  }
}
