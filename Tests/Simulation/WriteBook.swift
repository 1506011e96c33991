import BindingPeer

/// What a peer's application wrote, by name. Names are given in their order, so the last few are found without hashing.
struct WriteBook {
  /// In order.
  private(set) var ids: [WriteID] = []
  private var writes: [SimulatedPeer.Write] = []

  var isEmpty: Bool { ids.isEmpty }
  var first: (id: WriteID, write: SimulatedPeer.Write)? { ids.first.map { ($0, writes[0]) } }

  subscript(id: WriteID) -> SimulatedPeer.Write? {
    let place = place(of: id)
    return place < ids.count && ids[place] == id ? writes[place] : nil
  }

  mutating func add(_ write: SimulatedPeer.Write, as id: WriteID) {
    let place = place(of: id)
    ids.insert(id, at: place)
    writes.insert(write, at: place)
  }

  @discardableResult
  mutating func remove(_ id: WriteID) -> SimulatedPeer.Write? {
    let place = place(of: id)
    guard place < ids.count, ids[place] == id else { return nil }
    ids.remove(at: place)
    return writes.remove(at: place)
  }

  mutating func removeAll() {
    ids.removeAll()
    writes.removeAll()
  }

  /// Where it stands, or would.
  private func place(of id: WriteID) -> Int {
    var place = ids.count
    while place > 0, id <= ids[place - 1] { place -= 1 }
    return place
  }
}
