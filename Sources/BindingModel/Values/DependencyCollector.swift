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
  /// All that was noted so far was read the time before too, in the same order: so nothing of it is there twice, and
  /// all is kept alive by the node that is being computed.
  @exclusivity(unchecked) private var isRepeating = true
  /// What was not among it in its place.
  @exclusivity(unchecked) private var kept: ContiguousArray<AnyObject> = []
  /// Where things are in the lists, once they are many and looked for.
  @exclusivity(unchecked) private var inputIndices: [UnsafeRawPointer: Int] = [:]
  @exclusivity(unchecked) private var rootIndices: [UnsafeRawPointer: Int] = [:]
  @exclusivity(unchecked) private var isIndexed = false
  /// The next of those that a thread has at hand.
  @exclusivity(unchecked) var next: Unmanaged<DependencyCollector>?

  private static let many = 16

  /// What a node was computed from the time before. The node, which is in use, keeps it.
  struct Former {
    fileprivate var kept: Unmanaged<DerivedNode.Kept>?
    /// At hand, of `unchanged`.
    fileprivate var sources: UnsafeMutablePointer<UnsafeRawPointer>?
    fileprivate var inputCount = 0
    fileprivate var rootCount = 0
    /// Its first two inputs' versions, and how many inputs there were; -1 unless all were named.
    fileprivate var versions: (UInt64, UInt64) = (0, 0)
    fileprivate var named = -1
    fileprivate var node: Unmanaged<DerivedNode>?

    @inline(__always)
    func hasInput(_ source: UnsafeRawPointer, at index: Int) -> Bool {
      // SAFETY: there is memory where there are inputs or roots.
      index < inputCount && sources.unsafelyUnwrapped[index] == source
    }

    @inline(__always)
    func hasRoot(_ cell: UnsafeRawPointer, at index: Int) -> Bool {
      // SAFETY: as above.
      index < rootCount && sources.unsafelyUnwrapped[inputCount + index] == cell
    }

    @inline(__always)
    func hasAll(_ inputs: Int, roots: Int) -> Bool { kept != nil && inputCount == inputs && rootCount == roots }
  }

  deinit {
    inputs.free()
    roots.free()
  }

  var isEmpty: Bool { inputs.isEmpty }

  /// Notes what was read the time before. One by one: a processor waits where it is to load as one what was just stored
  /// in parts.
  ///
  /// - Parameters:
  ///   - named: how many inputs there were; -1 unless all were named.
  ///   - versions: those of the first two.
  @inline(__always)
  func begin(
    after kept: Unmanaged<DerivedNode.Kept>?, named: Int = -1, versions: (UInt64, UInt64) = (0, 0),
    of node: Unmanaged<DerivedNode>? = nil
  ) {
    former.kept = kept
    if let kept {
      kept._withUnsafeGuaranteedRef {
        former.sources = $0.sources
        former.inputCount = $0.inputCount
        former.rootCount = $0.rootCount
      }
    } else {
      former.inputCount = 0
      former.rootCount = 0
    }
    former.named = named
    former.versions.0 = versions.0
    former.versions.1 = versions.1
    former.node = node
  }

  func clear() {
    inputs.removeAll()
    roots.removeAll()
    (height, isMixed, isProbing, named, isUnchanged) = (0, false, false, -1, false)
    guard !isRepeating || isIndexed else { return }
    (isRepeating, isIndexed, kept, inputIndices, rootIndices) = (true, false, [], [:], [:])
  }

  // MARK: Recording

  @inline(__always)
  func add(_ cell: AnyCell, version: UInt64) {
    let source = UnsafeRawPointer(Unmanaged.passUnretained(cell).toOpaque())
    if isRepeating, height == 0, former.hasInput(source, at: inputs.count) {
      return inputs.append(Input(source: source, isNode: false, version: version))
    }
    addAnother(cell, version: version)
  }

  @inline(never)
  private func addAnother(_ cell: AnyCell, version: UInt64) {
    let cell = Unmanaged.passUnretained(cell)
    if let index = index(of: cell.toOpaque()) {
      if inputs[index].version != version { isMixed = true }
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
    node.record(in: self, node.lockFresh(in: turn), turn)
    node.state.unlock()
  }

  /// False if it is there already. Its roots are to be added next.
  @inline(__always)
  func addNode(_ node: DerivedNode, version: UInt64, height: Int) -> Bool {
    let opaque = UnsafeRawPointer(Unmanaged.passUnretained(node).toOpaque())
    if isRepeating, self.height > 0 || inputs.isEmpty, former.hasInput(opaque, at: inputs.count) {
      inputs.append(Input(source: opaque, isNode: true, version: version))
    } else {
      guard addAnotherNode(node, version: version) else { return false }
    }
    if self.height < height { self.height = height }
    return true
  }

  @inline(never)
  private func addAnotherNode(_ node: DerivedNode, version: UInt64) -> Bool {
    let opaque = UnsafeRawPointer(Unmanaged.passUnretained(node).toOpaque())
    if let index = index(of: opaque) {
      if inputs[index].version != version { isMixed = true }
      return false
    }
    if height == 0 {
      for index in inputs.indices { addRoot(inputs[index].asCell, version: inputs[index].version) }
    }
    append(Input(source: opaque, isNode: true, version: version), keeper: node.keeper)
    return true
  }

  @inline(__always)
  func addRoot(_ cell: Unmanaged<AnyCell>, version: UInt64) {
    if isRepeating, former.hasRoot(cell.toOpaque(), at: roots.count) {
      return roots.append(Root(cell: cell, version: version))
    }
    // Sources that go back to one cell mostly come one after the other.
    if !roots.isEmpty, roots[roots.count - 1].cell.toOpaque() == cell.toOpaque(),
      roots[roots.count - 1].version == version
    {
      return
    }
    addAnotherRoot(cell, version: version)
  }

  @inline(never)
  private func addAnotherRoot(_ cell: Unmanaged<AnyCell>, version: UInt64) {
    if let index = index(ofRoot: cell.toOpaque()) {
      guard roots[index].version != version else { return }
      isMixed = true
      // Of two versions the earlier: a root that has moved on is looked at again.
      roots[index].version = min(roots[index].version, version)
      return
    }
    let index = roots.count
    roots.append(Root(cell: cell, version: version))
    if !former.hasRoot(cell.toOpaque(), at: index) { keep(cell.takeUnretainedValue()) }
  }

  /// - Parameter keeper: the object that keeps the source alive.
  private func append(_ input: Input, keeper: UnsafeRawPointer) {
    let index = inputs.count
    inputs.append(input)
    if !former.hasInput(input.source, at: index) {
      keep(Unmanaged<AnyObject>.fromOpaque(keeper).takeUnretainedValue())
    }
  }

  private func keep(_ object: AnyObject) {
    isRepeating = false
    kept.append(object)
  }

  private func index(of source: UnsafeRawPointer) -> Int? {
    guard inputs.count >= Self.many else {
      for index in inputs.indices where inputs[index].source == source { return index }
      return nil
    }
    isIndexed = true
    for index in inputIndices.count..<inputs.count { inputIndices[inputs[index].source] = index }
    return inputIndices[source]
  }

  private func index(ofRoot cell: UnsafeRawPointer) -> Int? {
    guard roots.count >= Self.many else {
      for index in roots.indices where UnsafeRawPointer(roots[index].cell.toOpaque()) == cell { return index }
      return nil
    }
    isIndexed = true
    for index in rootIndices.count..<roots.count { rootIndices[roots[index].cell.toOpaque()] = index }
    return rootIndices[cell]
  }

  // MARK: Having noted

  /// Whether nobody wrote a root since it was read: then all that was read belongs together. Of a single one that is
  /// known from its version.
  @inline(__always)
  var isWhole: Bool { !isMixed && ((height > 0 ? roots.count : inputs.count) < 2 || areRootsPresent) }

  @inline(never)
  private var areRootsPresent: Bool {
    height > 0 ? roots.elements.allSatisfy(\.isPresent) : inputs.elements.allSatisfy(\.isPresentCell)
  }

  /// All that was named has been read; what is read from here on is found out.
  @inline(__always)
  func endNamed() {
    named = inputs.count
    isUnchanged = !isMixed && former.named == named && kept.isEmpty && former.isPresent(inputs)
  }

  /// Whether the same was read as the time before.
  var isSame: Bool { kept.isEmpty && former.hasAll(inputs.count, roots: roots.count) }

  /// Puts what was noted in place of what was there before: where the same was read, its versions alone.
  @inline(__always)
  func put(into state: UnsafeMutablePointer<DerivedNode.State>, isSame: Bool) {
    guard isSame, inputs.count == state.pointee.inputs.count, roots.count == state.pointee.roots.count else {
      swap(&inputs, &state.pointee.inputs)
      return swap(&roots, &state.pointee.roots)
    }
    for index in inputs.indices { state.pointee.inputs[index] = inputs[index] }
    for index in roots.indices { state.pointee.roots[index] = roots[index] }
  }

  /// What keeps all of it alive.
  var keeping: DerivedNode.Kept {
    var objects = ContiguousArray<AnyObject>()
    objects.reserveCapacity(inputs.count + roots.count)
    for input in inputs.elements {
      let keeper = input.isNode ? input.asNode._withUnsafeGuaranteedRef { $0.keeper } : input.source
      objects.append(Unmanaged<AnyObject>.fromOpaque(keeper).takeUnretainedValue())
    }
    for root in roots.elements { objects.append(root.cell.takeUnretainedValue()) }
    return DerivedNode.Kept(
      objects, sources: inputs.elements.map(\.source) + roots.elements.map { UnsafeRawPointer($0.cell.toOpaque()) },
      inputCount: inputs.count)
  }
}

extension DependencyCollector.Former {
  /// Whether inputs of the same sources have the same versions.
  @inline(__always)
  fileprivate func isPresent(_ inputs: PlainList<DerivedNode.Input>) -> Bool {
    switch inputs.count {
    case 0: true
    case 1: inputs[0].version == versions.0
    case 2: inputs[0].version == versions.0 && inputs[1].version == versions.1
    default: node?._withUnsafeGuaranteedRef { $0.hasInputs(inputs) } ?? false
    }
  }
}
