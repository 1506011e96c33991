import BindingPeer
import BindingTerminal

/// One element of a list, or a member of it: what follows the list's name in `show.cues[id=7].name`.
struct ElementAddress: Equatable {
  let id: String
  /// The names of the member, and of the members around it; empty: the whole element.
  var members: [String] = []

  /// Splits the part of an address behind the model into the field and the element; nil: no element is named.
  static func parts(of text: Substring) throws(Fault) -> (field: String, element: ElementAddress)? {
    guard let open = text.firstIndex(of: "[") else {
      // As the protocol names the field of an element.
      return ListElements.parts(of: String(text)).map { (String($0.list), ElementAddress(id: String($0.id))) }
    }
    let inner = text[text.index(after: open)...]
    guard inner.hasPrefix("id="), let close = inner.firstIndex(of: "]") else { throw Fault() }
    let id = inner[inner.index(inner.startIndex, offsetBy: 3)..<close]
    guard ListElements.isID(id) else { throw Fault() }
    let rest = inner[inner.index(after: close)...]
    var element = ElementAddress(id: String(id))
    guard !rest.isEmpty else { return (String(text[..<open]), element) }
    guard rest.first == "." else { throw Fault() }
    element.members = rest.dropFirst().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard element.members.allSatisfy({ !$0.isEmpty }) else { throw Fault() }
    return (String(text[..<open]), element)
  }

  struct Fault: Error {
    let text = "an element is written LIST[id=ID], a member of it LIST[id=ID].MEMBER"
  }

  var description: String { "[id=\(id)]" + members.map { ".\($0)" }.joined() }

  /// The value of the member in an element; nil: there is none.
  func value(in element: FieldValue) -> FieldValue? {
    var value = element
    for name in members {
      guard let member = JSON.members(ofText: value.bytes)?.last(where: { $0.name == name }) else { return nil }
      value = member.value
    }
    return value
  }

  /// The element with another value of the member, which is added if it is new; nil: what is around the member is no
  /// object.
  func replacing(in element: JSON, by value: JSON) -> JSON? { ElementAddress.replace(members[...], in: element, value) }

  private static func replace(_ path: ArraySlice<String>, in whole: JSON, _ value: JSON) -> JSON? {
    guard let name = path.first else { return value }
    guard case .object(var members) = whole else { return nil }
    let index = members.lastIndex { $0.name == name }
    guard let inner = replace(path.dropFirst(), in: index.map { members[$0].value } ?? .object([]), value) else {
      return nil
    }
    if let index { members[index].value = inner } else { members.append(.init(name, inner)) }
    return .object(members)
  }
}
