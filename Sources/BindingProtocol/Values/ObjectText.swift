/// The text of a JSON object, member by member. What is not changed keeps its order and its bytes.
struct ObjectText: Sendable {
  private(set) var members: [(name: String, value: FieldValue)] = []
  /// The last member of each name: of two with the same name the later counts.
  private var indices: [String: Int] = [:]
  private(set) var isChanged = false

  init() {}

  /// nil unless the text is a JSON object.
  init?(_ text: FieldValue) {
    guard let members = JSON.members(ofText: text.bytes) else { return nil }
    self.members = members
    findMembers()
  }

  private mutating func findMembers() {
    indices.removeAll(keepingCapacity: true)
    for (index, member) in members.enumerated() { indices[member.name] = index }
  }

  /// A member's value. Nothing is changed by the value that it has already; nil removes the member.
  subscript(name: String) -> FieldValue? {
    get { indices[name].map { members[$0].value } }
    set {
      let index = indices[name]
      guard let newValue else {
        guard index != nil else { return }
        members.removeAll { $0.name == name }
        isChanged = true
        return findMembers()
      }
      if let index {
        guard members[index].value != newValue else { return }
        members[index].value = newValue
      } else {
        indices[name] = members.count
        members.append((name, newValue))
      }
      isChanged = true
    }
  }

  /// The names, each once, in the order of the members that count.
  var names: [String] { members.indices.filter { indices[members[$0].name] == $0 }.map { members[$0].name } }

  /// A member as JSON; nil if there is none.
  func json(_ name: String) -> JSON? { self[name].flatMap { try? $0.json } }

  /// A member that is a whole number of at least 0; nil for anything else.
  func count(_ name: String) -> Int? { json(name)?.int64.flatMap { $0 >= 0 ? Int(clamping: $0) : nil } }

  /// The text of the object.
  var text: FieldValue {
    var bytes = [UInt8(ascii: "{")]
    for (index, member) in members.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += JSON.string(member.name).bytes
      bytes.append(UInt8(ascii: ":"))
      bytes += member.value.bytes
    }
    bytes.append(UInt8(ascii: "}"))
    return FieldValue(bytes: bytes)
  }
}
