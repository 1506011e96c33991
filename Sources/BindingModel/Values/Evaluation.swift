/// One computation under way.
struct Reading<Value> {
  // SAFETY: it is there for as long as the computation.
  let collector: Unmanaged<DependencyCollector>
  let turn: UnsafeMutablePointer<ThreadTurn>
  /// Sources are taken as they are, whether or not they belong together.
  let isLast: Bool
  let result: UnsafeMutablePointer<Value>

  func give(_ value: consuming Value) { result.initialize(to: value) }

  /// Gives what is computed from the sources that were named, all of which have been read: unless they do not belong
  /// together, which makes it false, or are what they were the time before.
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

/// How a derived value is computed. A closure that never changes is called as it lies; one that may change is retained
/// for each call.
final class EvaluationBox<Value>: Sendable {
  /// Reads the sources, and gives what it computes from them; false if they do not belong together. What it reads
  /// besides is a source too.
  let evaluate: @Sendable (Reading<Value>) -> Bool

  init(_ evaluate: @escaping @Sendable (Reading<Value>) -> Bool) { self.evaluate = evaluate }
}

/// Reads a source and gives what is computed from it. A function of its own, made for the commonest types too: where a
/// derived value is made the types are not known, and a closure made there looks them up at each call.
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

/// The same of two sources.
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
