/// Records what a computation reads. Reused from one computation to the next.
///
/// Mostly the same sources are read as in the previous computation, in the same order. Then only versions are copied,
/// and nothing is retained.
final class DependencyCollector {
  typealias Input = DerivedNode.Input
  typealias Root = DerivedNode.Root

  @exclusivity(unchecked) private(set) var inputs = PlainList<Input>()
  /// The cells behind all inputs, if there are nodes among them.
  @exclusivity(unchecked) private(set) var roots = PlainList<Root>()
  /// The height of the highest node among the inputs.
  @exclusivity(unchecked) private(set) var height = 0
  /// One root was seen in two versions: the values read are inconsistent.
  @exclusivity(unchecked) private(set) var isMixed = false
  /// Only the sources are wanted, not their values.
  @exclusivity(unchecked) var isProbing = false
  /// How many inputs were named rather than discovered; -1: not known.
  @exclusivity(unchecked) private(set) var named = -1
  /// The named inputs are unchanged since the previous computation, and there are no others.
  @exclusivity(unchecked) private(set) var isUnchanged = false
  /// What the previous computation read.
  @exclusivity(unchecked) private var former = Former()
  /// The previous computation read everything recorded so far too, in the same order: so there are no duplicates, and
  /// the node being computed keeps all of it alive.
  @exclusivity(unchecked) private var isRepeating = true
  /// Objects that the previous computation did not read at the same index.
  @exclusivity(unchecked) private var kept: ContiguousArray<AnyObject> = []
  /// Indices of sources in the lists, built once the lists are long and searched.
  @exclusivity(unchecked) private var inputIndices: [UnsafeRawPointer: Int] = [:]
  @exclusivity(unchecked) private var rootIndices: [UnsafeRawPointer: Int] = [:]
  @exclusivity(unchecked) private var isIndexed = false
  /// The next collector in the thread's pool.
  @exclusivity(unchecked) var next: Unmanaged<DependencyCollector>?

  private static let many = 16

  /// What a node was computed from before. The node, which is in use, retains it.
  struct Former {
    fileprivate var kept: Unmanaged<DerivedNode.Kept>?
    /// The `sources` of `kept`, cached.
    fileprivate var sources: UnsafeMutablePointer<UnsafeRawPointer>?
    fileprivate var inputCount = 0
    fileprivate var rootCount = 0
    /// The versions of the first two inputs, and the number of inputs; -1 unless all were named.
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
      // SAFETY: there is memory where there are inputs or roots.
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

  /// Stores what the previous computation read. Field by field: a processor stalls when it loads as a whole what was
  /// just stored in parts.
  ///
  /// - Parameters:
  ///   - named: the number of inputs; -1 unless all were named.
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

  /// Adds a node, whose roots are to be added next. False if it is there already.
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
    // Sources with the same root mostly follow one another.
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
      // The earlier of two versions, so that a root that has moved on is checked again.
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

  // MARK: Results

  /// Whether no root was written since it was read, so that the values read are consistent. A single root proves that
  /// by its version.
  @inline(__always)
  var isWhole: Bool { !isMixed && ((height > 0 ? roots.count : inputs.count) < 2 || areRootsPresent) }

  @inline(never)
  private var areRootsPresent: Bool {
    height > 0 ? roots.elements.allSatisfy(\.isPresent) : inputs.elements.allSatisfy(\.isPresentCell)
  }

  /// Ends the named sources; later reads are discovered ones.
  @inline(__always)
  func endNamed() {
    named = inputs.count
    isUnchanged = !isMixed && former.named == named && kept.isEmpty && former.isPresent(inputs)
  }

  /// Whether the previous computation read the same sources.
  var isSame: Bool { kept.isEmpty && former.hasAll(inputs.count, roots: roots.count) }

  /// Installs the recorded inputs and roots. If the sources are the same, only their versions are copied.
  @inline(__always)
  func put(into state: UnsafeMutablePointer<DerivedNode.State>, isSame: Bool) {
    guard isSame, inputs.count == state.pointee.inputs.count, roots.count == state.pointee.roots.count else {
      swap(&inputs, &state.pointee.inputs)
      return swap(&roots, &state.pointee.roots)
    }
    for index in inputs.indices { state.pointee.inputs[index] = inputs[index] }
    for index in roots.indices { state.pointee.roots[index] = roots[index] }
  }

  /// The objects that keep all of this alive.
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
