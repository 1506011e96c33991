import BindingPeer
import BindingProtocol

/// The fields of every simulated model, by their index in its state.
enum SimulatedField {
  static let names =
    ["a", "b", "c", "n", Names.description, "t", "u", "s", "z", "l"]
    + elementIDs.map { "l@\($0)" }
  static let count = names.count
  /// How many of them, from the first on, have plain values.
  static let plain = 3
  /// A counter.
  static let sum = 3
  static let description = 4
  /// A text into which every write puts one word.
  static let text = 5
  /// A list into which the hub puts one number for each write.
  static let union = 6
  /// A list into which its writers put one number each, and which they merge themselves.
  static let list = 7
  /// Another name of the counter, under which nothing is ever stored.
  static let alias = 8
  /// The head of a list whose elements are fields; the elements follow it.
  static let head = 9
  /// The ids that its elements have.
  static let elementIDs = ["a", "b", "c", "d", "e"]
  /// What every description of a model with such a list contains.
  static let describedList = "\"l\":{\"policy\":\"list\"}"

  /// The fields whose shown value is checked.
  static let areShown = names.indices.map { $0 != sum }

  static func index(of name: String) -> Int? { names.firstIndex(of: name) }

  /// Whether its writers must not lose each other's elements.
  static func isGathered(_ field: Int) -> Bool { (text...list).contains(field) }

  /// The words or numbers of a value: a text's words are "w" and a number.
  static func elements(of value: FieldValue?) -> [Int] {
    guard let value else { return [] }
    var elements: [Int] = []
    var number: Int?
    for byte in value.bytes {
      if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
        number = (number ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
      } else if let element = number {
        elements.append(element)
        number = nil
      }
    }
    return elements
  }

  static func list(of elements: [Int]) -> FieldValue {
    FieldValue(bytes: Array("[\(elements.map(String.init).joined(separator: ","))]".utf8))
  }

  /// All words have the same length: otherwise inserted letters could turn one word into another, and those of two
  /// writers would mix in it.
  private static func word(_ number: Int) -> String {
    let digits = String(number)
    return "w" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
  }

  static func text(of words: [Int]) -> FieldValue {
    FieldValue(bytes: Array("\"\(words.map(word).joined(separator: " "))\"".utf8))
  }

  /// What a proposal sets in the fields whose values identify their writer.
  static func plainSets(_ proposal: Proposal) -> [(field: Int, value: FieldValue)] {
    proposal.operations.compactMap { operation in
      guard operation.verb == .set, let value = operation.value, let field = index(of: operation.field),
        !isGathered(field)
      else { return nil }
      return (field, value)
    }
  }
}
