/// What a computation reads, noted by whatever is read. Used again from one computation to the next.
///
/// Mostly the same is read as the time before, in the same order. Then nothing is retained or copied but versions.
final class DependencyCollector {
  typealias Input = DerivedNode.Input
  typealias Root = DerivedNode.Root

  @exclusivity(unchecked) private(set) var inputs: ContiguousArray<Input> = []
  /// The cells behind all of it, if there are nodes among it.
  @exclusivity(unchecked) private(set) var roots: ContiguousArray<Root> = []
  /// That of the highest node among it.
  @exclusivity(unchecked) private(set) var height = 0
  /// One root was seen in two versions: what was read does not belong together.
  @exclusivity(unchecked) private(set) var isMixed = false
  /// Only what is read is wanted, not what it is.
  @exclusivity(unchecked) var isProbing = false
  /// What was read the time before, kept alive meanwhile.
  @exclusivity(unchecked) private var former: DerivedNode.Kept?
  /// What was not among it in its place.
  @exclusivity(unchecked) private var kept: ContiguousArray<AnyObject> = []
  /// Where things are in the arrays, once they are many.
  @exclusivity(unchecked) private var inputPlaces: [ObjectIdentifier: Int] = [:]
  @exclusivity(unchecked) private var rootPlaces: [ObjectIdentifier: Int] = [:]

  private static let many = 16

  var isEmpty: Bool { inputs.isEmpty }

  func begin(after former: DerivedNode.Kept?) { self.former = former }

  func clear() {
    inputs.removeAll(keepingCapacity: true)
    roots.removeAll(keepingCapacity: true)
    (height, isMixed, isProbing) = (0, false, false)
    if !kept.isEmpty { kept = [] }
    if !inputPlaces.isEmpty { inputPlaces = [:] }
    if !rootPlaces.isEmpty { rootPlaces = [:] }
  }

  /// Lets go of what the time before kept.
  func end() {
    clear()
    former = nil
  }

  func add(_ cell: AnyCell, version: UInt64) {
    if let place = place(of: cell) {
      if inputs[place].version != version { isMixed = true }
      return
    }
    append(cell, isNode: false, version: version)
    if height > 0 { addRoot(Unmanaged.passUnretained(cell), version: version) }
  }

  func add(_ node: DerivedNode, in turn: UnsafeMutablePointer<ThreadTurn>) {
    if isProbing { return append(node, isNode: true, version: 0) }
    node.refresh(in: turn)
    node.note(in: self)
  }

  /// False if it is there already. Its roots are to be added next.
  func addNode(_ node: DerivedNode, version: UInt64, height: Int) -> Bool {
    if let place = place(of: node) {
      if inputs[place].version != version { isMixed = true }
      return false
    }
    if self.height == 0 {
      for place in inputs.indices { addRoot(inputs[place].asCell, version: inputs[place].version) }
    }
    append(node, isNode: true, version: version)
    self.height = max(self.height, height)
    return true
  }

  func addRoot(_ cell: Unmanaged<AnyCell>, version: UInt64) {
    if let place = place(ofRoot: cell) {
      guard roots[place].version != version else { return }
      isMixed = true
      // Of two versions the earlier: a root that has moved on is looked at again.
      roots[place].version = min(roots[place].version, version)
      return
    }
    let place = roots.count
    roots.append(Root(cell: cell, version: version))
    if former?.hasRoot(cell, at: place) != true { kept.append(cell.takeUnretainedValue()) }
    guard roots.count >= Self.many else { return }
    for place in (rootPlaces.isEmpty ? 0 : place)..<roots.count {
      rootPlaces[ObjectIdentifier(roots[place].cell.takeUnretainedValue())] = place
    }
  }

  private func append(_ source: AnyObject, isNode: Bool, version: UInt64) {
    let unmanaged = Unmanaged.passUnretained(source)
    let place = inputs.count
    inputs.append(Input(source: unmanaged, isNode: isNode, version: version))
    if former?.hasInput(unmanaged, at: place) != true { kept.append(source) }
    guard inputs.count >= Self.many else { return }
    for place in (inputPlaces.isEmpty ? 0 : place)..<inputs.count {
      inputPlaces[ObjectIdentifier(inputs[place].source.takeUnretainedValue())] = place
    }
  }

  private func place(of object: AnyObject) -> Int? {
    guard inputPlaces.isEmpty else { return inputPlaces[ObjectIdentifier(object)] }
    let address = Unmanaged.passUnretained(object).toOpaque()
    for place in inputs.indices where inputs[place].source.toOpaque() == address { return place }
    return nil
  }

  private func place(ofRoot cell: Unmanaged<AnyCell>) -> Int? {
    guard rootPlaces.isEmpty else { return rootPlaces[ObjectIdentifier(cell.takeUnretainedValue())] }
    for place in roots.indices where roots[place].cell.toOpaque() == cell.toOpaque() { return place }
    return nil
  }

  /// Whether nobody wrote a root since it was read: then all that was read belongs together. Of a single one that is
  /// known from its version.
  var isWhole: Bool {
    if isMixed { return false }
    if height > 0 { return roots.count < 2 || roots.allSatisfy(\.isPresent) }
    return inputs.count < 2 || inputs.allSatisfy(\.isPresentCell)
  }

  /// Whether the same was read as the time before.
  var isSame: Bool {
    guard let former, kept.isEmpty else { return false }
    return inputs.count == former.inputs.count && roots.count == former.roots.count
  }

  /// What keeps all of it alive.
  var keeping: DerivedNode.Kept {
    DerivedNode.Kept(
      inputs: ContiguousArray(inputs.map { $0.source.takeUnretainedValue() }),
      roots: ContiguousArray(roots.map { $0.cell.takeUnretainedValue() }))
  }
}
