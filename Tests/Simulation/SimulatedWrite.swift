import BindingPeer
import BindingProtocol

/// A write of an application. A class: every update reads it, and a copy would retain each of its parts.
final class SimulatedWrite {
  let model: Int
  /// The plain values that it set.
  let fields: [(field: Int, value: FieldValue)]
  let isPlain: Bool
  let condition: Condition?
  /// What it put into gathering fields, including what it superseded.
  @exclusivity(unchecked) var gathered: [(field: Int, element: Int)]
  /// The value that it set when it was made, if it has a merge rule.
  let original: FieldValue?
  /// How often the application was asked to merge it.
  @exclusivity(unchecked) var questions = 0
  /// Whether it adds to text or exceeds the hops.
  let mayBeRefused: Bool
  @exclusivity(unchecked) var isWithdrawn: Bool

  init(
    model: Int, fields: [(field: Int, value: FieldValue)], isPlain: Bool, condition: Condition? = nil,
    gathered: [(field: Int, element: Int)] = [], original: FieldValue? = nil, mayBeRefused: Bool,
    isWithdrawn: Bool = false
  ) {
    self.model = model
    self.fields = fields
    self.isPlain = isPlain
    self.condition = condition
    self.gathered = gathered
    self.original = original
    self.mayBeRefused = mayBeRefused
    self.isWithdrawn = isWithdrawn
  }
}

/// An application's writes, by id. Ids ascend, so the last few are found without hashing.
struct WriteBook {
  /// Ascending.
  private(set) var ids: [WriteID] = []
  private var writes: [SimulatedWrite] = []

  var isEmpty: Bool { ids.isEmpty }
  var first: (id: WriteID, write: SimulatedWrite)? { ids.first.map { ($0, writes[0]) } }

  subscript(id: WriteID) -> SimulatedWrite? {
    let index = index(of: id)
    return index < ids.count && ids[index] == id ? writes[index] : nil
  }

  mutating func add(_ write: SimulatedWrite, as id: WriteID) {
    let index = index(of: id)
    ids.insert(id, at: index)
    writes.insert(write, at: index)
  }

  @discardableResult
  mutating func remove(_ id: WriteID) -> SimulatedWrite? {
    let index = index(of: id)
    guard index < ids.count, ids[index] == id else { return nil }
    ids.remove(at: index)
    return writes.remove(at: index)
  }

  mutating func removeAll() {
    ids.removeAll()
    writes.removeAll()
  }

  /// The index of the id, or where it would be inserted.
  private func index(of id: WriteID) -> Int {
    var index = ids.count
    while index > 0, id <= ids[index - 1] { index -= 1 }
    return index
  }
}
