import BindingPeer

/// An application's writes, by id. Ids ascend, so the last few are found without hashing.
struct WriteBook {
  /// Ascending.
  private(set) var ids: [WriteID] = []
  private var writes: [SimulatedPeer.Write] = []

  var isEmpty: Bool { ids.isEmpty }
  var first: (id: WriteID, write: SimulatedPeer.Write)? { ids.first.map { ($0, writes[0]) } }

  subscript(id: WriteID) -> SimulatedPeer.Write? {
    let index = index(of: id)
    return index < ids.count && ids[index] == id ? writes[index] : nil
  }

  mutating func add(_ write: SimulatedPeer.Write, as id: WriteID) {
    let index = index(of: id)
    ids.insert(id, at: index)
    writes.insert(write, at: index)
  }

  @discardableResult
  mutating func remove(_ id: WriteID) -> SimulatedPeer.Write? {
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
