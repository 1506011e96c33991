import BindingPeer

/// A type of the printed text: models with the same description have one.
struct StubType {
  let name: String
  /// Of the models, sorted.
  let ids: [String]
  /// In declared order.
  let fields: [StubField]

  /// The types of these models, in the order of their ids.
  /// - Parameter taken: names that mean something else in the language.
  static func of(_ models: [(id: String, description: ModelDescription)], except taken: Swift.Set<String>) -> [StubType]
  {
    var groups: [(description: ModelDescription, ids: [String])] = []
    var places: [JSON: Int] = [:]
    for (id, description) in models.sorted(by: { $0.id < $1.id }) {
      let place = places[description.json, default: groups.count]
      if place == groups.count { groups.append((description, [])) }
      places[description.json] = place
      groups[place].ids.append(id)
    }
    var used = taken
    return groups.map { description, ids in
      let name = StubName.type(of: ids, except: used)
      used.insert(name)
      return StubType(name: name, ids: ids, fields: StubField.of(description))
    }
  }

  /// The ids for people, all on one line.
  var words: String {
    let shown = ids.prefix(3).joined(separator: ", ")
    return ids.count > 3 ? "\(shown) and \(ids.count - 3) more" : shown
  }
}

/// A described field.
struct StubField {
  /// Its present name.
  let name: String
  /// The name under which it is stored, if that is another one.
  let stored: String?
  let description: FieldDescription

  static func of(_ description: ModelDescription) -> [StubField] {
    var present: [String: String] = [:]
    for (alias, stored) in description.aliases.sorted(by: { $0.key > $1.key }) where StubName.isField(alias) {
      present[stored] = alias
    }
    return description.ordered.compactMap { name, field in
      guard StubName.isField(name) else { return nil }
      let alias = present[name].flatMap { description.fields[$0] == nil ? $0 : nil }
      return StubField(name: alias ?? name, stored: alias.map { _ in name }, description: field)
    }
  }

  /// The range of a field for numbers, if both of its ends are numbers of the field's type.
  var range: (least: JSON, most: JSON, values: ClosedRange<Double>)? {
    let type = description.type
    guard type == .integer || type == .number, let least = description.minimum, let most = description.maximum,
      StubLiteral.fits(least, type), StubLiteral.fits(most, type), let low = StubLiteral.number(least),
      let high = StubLiteral.number(most), low <= high
    else { return nil }
    return (least, most, low...high)
  }

  /// What the field takes, for people: `0...1 lm`; empty: nothing special.
  var words: [String] {
    var parts: [String] = []
    if description.minimum != nil || description.maximum != nil {
      parts.append("\(description.minimum?.text ?? "…")...\(description.maximum?.text ?? "…")")
    }
    if !description.choices.isEmpty {
      parts.append("one of \(description.choices.map(\.text).joined(separator: ", "))")
    }
    if let length = description.maximumLength { parts.append("at most \(length) characters") }
    if let unit = description.unit { parts.append("in \(unit)") }
    return parts
  }
}

/// Names of types and fields that programs can have.
enum StubName {
  /// Whether a description may name a field so, and its name is for programs.
  static func isField(_ name: String) -> Bool {
    (try? Names.checkField(name)) != nil && !name.contains("@")
  }

  /// `kiosk-3` is `Kiosk3`.
  static func capitalised(_ word: Substring) -> String { parts(word).map { capital($0) }.joined() }

  /// `warm-white` is `warmWhite`; a digit does not come first, and something besides `_` is there.
  static func variable(_ word: String) -> String {
    let parts = parts(word[...])
    let joined = String(parts.first ?? "") + parts.dropFirst().map { capital($0) }.joined()
    if joined.allSatisfy({ $0 == "_" }) { return "field\(joined)" }
    return joined.first.map(\.isNumber) == true ? "_\(joined)" : joined
  }

  /// `shop/kiosk-3` is a `Kiosk3`; `lights/1` and `lights/2` together are `Lights`. What is taken gets more of the
  /// model's path in front of it, or a number.
  static func type(of ids: [String], except taken: Swift.Set<String>) -> String {
    let first = ids[0]
    var common = first[...]
    for id in ids.dropFirst() { common = common[..<commonEnd(common, id)] }
    if ids.count > 1 { common = trimmed(common, of: ids) }
    let words = common.split(separator: "/").map(capitalised)
    var name = ""
    for word in words.reversed() {
      name = word + name
      if let letter = name.first, letter.isLetter, !taken.contains(name) { return name }
    }
    let base = name.first?.isLetter == true ? name : "Model\(name)"
    if base != "Model", !taken.contains(base) { return base }
    return (2...).lazy.map { "\(base)\($0)" }.first { !taken.contains($0) } ?? base
  }

  private static func commonEnd(_ some: Substring, _ other: String) -> Substring.Index {
    var (place, there) = (some.startIndex, other.startIndex)
    while place < some.endIndex, there < other.endIndex, some[place] == other[there] {
      place = some.index(after: place)
      there = other.index(after: there)
    }
    return place
  }

  /// Without what numbers the models, or is only the beginning of a word: `lamp-` is `lamp`.
  private static func trimmed(_ common: Substring, of ids: [String]) -> Substring {
    var words = common
    let isCut = ids.contains { $0.dropFirst(common.count).first?.isLetter ?? false }
    if isCut { while let last = words.last, last.isLetter { words.removeLast() } }
    while let last = words.last, !last.isLetter { words.removeLast() }
    return words
  }

  private static func parts(_ word: Substring) -> [Substring] {
    word.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")) }
  }

  private static func capital(_ word: Substring) -> String { word.prefix(1).uppercased() + word.dropFirst() }
}
