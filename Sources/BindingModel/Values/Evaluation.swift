/// One computation in progress.
struct Reading<Value> {
  // SAFETY: it lives as long as the computation.
  let collector: Unmanaged<DependencyCollector>
  let turn: UnsafeMutablePointer<ThreadTurn>
  /// Sources are used as read, consistent or not.
  let isLast: Bool
  let result: UnsafeMutablePointer<Value>

  func give(_ value: consuming Value) { result.initialize(to: value) }

  /// Stores the result computed from the named sources, all of which have been read. False if they are inconsistent;
  /// does not compute if they are unchanged.
  @inline(__always)
  func giveFromNamed(_ compute: () -> Value) -> Bool {
    let isUnchanged = collector._withUnsafeGuaranteedRef { collector -> Bool? in
      guard isLast || collector.isWhole else { return nil }
      collector.endNamed()
      return collector.isUnchanged
    }
    if isUnchanged == false { result.initialize(to: compute()) }
    return isUnchanged != nil
  }
}

/// The computation of a derived value. A closure that never changes is called in place; one that may change would be
/// retained for each call.
final class EvaluationBox<Value>: Sendable {
  /// Reads the sources and stores the result; false if they are inconsistent. Anything else that it reads is a source
  /// too.
  let evaluate: @Sendable (Reading<Value>) -> Bool

  init(_ evaluate: @escaping @Sendable (Reading<Value>) -> Bool) { self.evaluate = evaluate }
}

/// Reads a source and computes from it. A separate function, specialized for the commonest types: a closure made in
/// an initializer of `Derived`, where the types are not known, would look them up at each call.
@_specialize(where A == Double, Value == Double)
@_specialize(where A == Int, Value == Int)
func evaluation<A, Value>(
  of source: DerivedSource<A>, _ compute: @escaping @Sendable (A) -> Value
) -> @Sendable (Reading<Value>) -> Bool {
  { reading in
    let value = source.read(reading.collector, reading.turn)
    return reading.giveFromNamed { compute(value) }
  }
}

/// Reads two sources and computes from them, specialized for the commonest types.
@_specialize(where A == Double, B == Double, Value == Double)
@_specialize(where A == Int, B == Int, Value == Int)
func evaluation<A, B, Value>(
  of first: DerivedSource<A>, _ second: DerivedSource<B>, _ compute: @escaping @Sendable (A, B) -> Value
) -> @Sendable (Reading<Value>) -> Bool {
  { reading in
    let first = first.read(reading.collector, reading.turn)
    let second = second.read(reading.collector, reading.turn)
    return reading.giveFromNamed { compute(first, second) }
  }
}
