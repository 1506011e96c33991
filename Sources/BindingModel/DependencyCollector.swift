/// What a computation reads, noted by whatever is read. Used again from one computation to the next.
///
/// Mostly the same is read as the time before, in the same order. Then nothing is retained or copied but versions.
final class DependencyCollector {
  typealias Input = DerivedNode.Input
  typealias Root = DerivedNode.Root

  @exclusivity(unchecked) private(set) var inputs = PlainList<Input>()
  /// The cells behind all of it, if there are nodes among it.
  @exclusivity(unchecked) private(set) var roots = PlainList<Root>()
  /// That of the highest node among it.
  @exclusivity(unchecked) private(set) var height = 0
  /// One root was seen in two versions: what was read does not belong together.
  @exclusivity(unchecked) private(set) var isMixed = false
  /// Only what is read is wanted, not what it is.
  @exclusivity(unchecked) var isProbing = false
  /// How many of the inputs were named rather than found out; -1: there was no saying.
  @exclusivity(unchecked) private(set) var named = -1
  /// The named inputs are what they were the time before, and there are no others.
  @exclusivity(unchecked) private(set) var isUnchanged = false
  /// What was read the time before.
  @exclusivity(unchecked) private var former = Former()
  /// What was not among it in its place.
  @exclusivity(unchecked) private var kept: ContiguousArray<AnyObject> = []
  /// Where things are in the lists, once they are many.
  @exclusivity(unchecked) private var inputPlaces: [UnsafeRawPointer: Int] = [:]
  @exclusivity(unchecked) private var rootPlaces: [UnsafeRawPointer: Int] = [:]
  /// The next of those that a thread has at hand.
  @exclusivity(unchecked) var next: Unmanaged<DependencyCollector>?

  private static let many = 16

  /// What a node was computed from the time before. The node, which is in use, keeps it.
  struct Former {
    var kept: Unmanaged<DerivedNode.Kept>?
    /// Its first two inputs' versions, and how many inputs there were; -1 unless all were named.
    var versions: (UInt64, UInt64) = (0, 0)
    var named = -1
    var node: Unmanaged<DerivedNode>?
  }

  deinit {
    inputs.free()
    roots.free()
  }

  var isEmpty: Bool { inputs.isEmpty }

  func begin(after former: Former) { self.former = former }

  func clear() {
    inputs.removeAll()
    roots.removeAll()
    (height, isMixed, isProbing, named, isUnchanged) = (0, false, false, -1, false)
    if !kept.isEmpty { kept = [] }
    if !inputPlaces.isEmpty { inputPlaces = [:] }
    if !rootPlaces.isEmpty { rootPlaces = [:] }
  }

  // MARK: Noting

  func add(_ cell: AnyCell, version: UInt64) {
    let cell = Unmanaged.passUnretained(cell)
    if let place = place(of: cell.toOpaque()) {
      if inputs[place].version != version { isMixed = true }
      return
    }
    append(Input(source: cell.toOpaque(), isNode: false, version: version), keeper: cell.toOpaque())
    if height > 0 { addRoot(cell, version: version) }
  }

  func add(_ node: DerivedNode, in turn: UnsafeMutablePointer<ThreadTurn>) {
    if isProbing {
      let node = Unmanaged.passUnretained(node)
      return append(Input(source: node.toOpaque(), isNode: true, version: 0), keeper: node.toOpaque())
    }
    node.note(in: self, node.lockFresh(in: turn), turn)
    node.state.unlock()
  }

  /// False if it is there already. Its roots are to be added next.
  func addNode(_ node: DerivedNode, version: UInt64, height: Int) -> Bool {
    let opaque = Unmanaged.passUnretained(node).toOpaque()
    if let place = place(of: opaque) {
      if inputs[place].version != version { isMixed = true }
      return false
    }
    if self.height == 0 {
      for place in inputs.indices { addRoot(inputs[place].asCell, version: inputs[place].version) }
    }
    append(Input(source: opaque, isNode: true, version: version), keeper: node.keeper)
    self.height = max(self.height, height)
    return true
  }

  func addRoot(_ cell: Unmanaged<AnyCell>, version: UInt64) {
    if let place = place(ofRoot: cell.toOpaque()) {
      guard roots[place].version != version else { return }
      isMixed = true
      // Of two versions the earlier: a root that has moved on is looked at again.
      roots[place].version = min(roots[place].version, version)
      return
    }
    let place = roots.count
    roots.append(Root(cell: cell, version: version))
    if !former.hasRoot(cell.toOpaque(), at: place) { kept.append(cell.takeUnretainedValue()) }
    guard roots.count >= Self.many else { return }
    for place in (rootPlaces.isEmpty ? 0 : place)..<roots.count { rootPlaces[roots[place].cell.toOpaque()] = place }
  }

  /// - Parameter keeper: the object that keeps the source alive.
  private func append(_ input: Input, keeper: UnsafeRawPointer) {
    let place = inputs.count
    inputs.append(input)
    if !former.hasInput(keeper, at: place) {
      kept.append(Unmanaged<AnyObject>.fromOpaque(keeper).takeUnretainedValue())
    }
    guard inputs.count >= Self.many else { return }
    for place in (inputPlaces.isEmpty ? 0 : place)..<inputs.count { inputPlaces[inputs[place].source] = place }
  }

  private func place(of source: UnsafeRawPointer) -> Int? {
    guard inputPlaces.isEmpty else { return inputPlaces[source] }
    for place in inputs.indices where inputs[place].source == source { return place }
    return nil
  }

  private func place(ofRoot cell: UnsafeRawPointer) -> Int? {
    guard rootPlaces.isEmpty else { return rootPlaces[cell] }
    for place in roots.indices where UnsafeRawPointer(roots[place].cell.toOpaque()) == cell { return place }
    return nil
  }

  // MARK: Having noted

  /// Whether nobody wrote a root since it was read: then all that was read belongs together. Of a single one that is
  /// known from its version.
  var isWhole: Bool {
    if isMixed { return false }
    if height > 0 { return roots.count < 2 || roots.elements.allSatisfy(\.isPresent) }
    return inputs.count < 2 || inputs.elements.allSatisfy(\.isPresentCell)
  }

  /// All that was named has been read; what is read from here on is found out.
  func endNamed() {
    named = inputs.count
    isUnchanged = !isMixed && former.named == named && kept.isEmpty && former.isPresent(inputs)
  }

  /// Whether the same was read as the time before.
  var isSame: Bool {
    guard let kept = former.kept, self.kept.isEmpty else { return false }
    return kept._withUnsafeGuaranteedRef { inputs.count == $0.inputs.count && roots.count == $0.roots.count }
  }

  /// Leaves what was noted in return for lists that are needed no more.
  func exchange(_ inputs: inout PlainList<Input>, _ roots: inout PlainList<Root>) {
    swap(&self.inputs, &inputs)
    swap(&self.roots, &roots)
  }

  /// What keeps all of it alive.
  var keeping: DerivedNode.Kept {
    DerivedNode.Kept(
      inputs: ContiguousArray(
        inputs.elements.map { input in
          input.isNode
            ? Unmanaged<AnyObject>.fromOpaque(input.asNode._withUnsafeGuaranteedRef { $0.keeper }).takeUnretainedValue()
            : input.asCell.takeUnretainedValue()
        }),
      roots: ContiguousArray(roots.elements.map { $0.cell.takeUnretainedValue() }))
  }
}

extension DependencyCollector.Former {
  fileprivate func hasInput(_ keeper: UnsafeRawPointer, at place: Int) -> Bool {
    kept?._withUnsafeGuaranteedRef { $0.hasInput(keeper, at: place) } ?? false
  }

  fileprivate func hasRoot(_ cell: UnsafeRawPointer, at place: Int) -> Bool {
    kept?._withUnsafeGuaranteedRef { $0.hasRoot(cell, at: place) } ?? false
  }

  /// Whether inputs of the same sources have the same versions.
  fileprivate func isPresent(_ inputs: PlainList<DerivedNode.Input>) -> Bool {
    switch inputs.count {
    case 0: true
    case 1: inputs[0].version == versions.0
    case 2: inputs[0].version == versions.0 && inputs[1].version == versions.1
    default: node?._withUnsafeGuaranteedRef { $0.hasInputs(inputs) } ?? false
    }
  }
}
