import BindingModel
import CAllocations

/// A figure that is counted rather than timed.
struct Count {
  let name: String
  /// The promised maximum; nil if there is none.
  let limit: Double?
  let counted: () -> Double

  /// Nil where allocations cannot be counted.
  func measure() -> Double? { allocations_are_counted() ? counted() : nil }
}

enum Counts {
  static let title = "memory and allocations, counted"

  static var all: [Count] {
    [
      Count(name: "bytes of an idle Observable<Double>, as asked for", limit: 112) { bytes(allocations_bytes_asked) },
      Count(name: "bytes of it in use, with the allocator's own", limit: nil) {
        bytes { UInt64(allocations_bytes_in_use()) }
      },
      allocations("no observer") { _ in observed(0) },
      allocations("1 observer") { observed(1, $0) },
      allocations("10 observers") { observed(10, $0) },
      allocations("1 observer of an owner") { tally in
        let observable = Observable(0.0)
        observable.observe(on: tally, tally.body())
        return { observable.value = $0 }
      },
      allocations("three key paths, no observer") { _ in lent(Lent(.member)) },
      allocations("three key paths, 1 observer") { lent(Lent(.member, $0.body())) },
      allocations("three key paths and a mapping, no observer") { _ in lent(Lent(.scaledMember)) },
      allocations("three key paths and a mapping, 1 observer") { lent(Lent(.scaledMember, $0.body())) },
      allocations("two-way pair") { _ in
        let (left, right) = (Observable(0.0), Observable(0.0))
        let link = left.binding.bind(to: right.binding)
        return { value in
          left.value = value
          withExtendedLifetime(link) { precondition(right.value == value) }
        }
      },
    ]
  }

  private static func observed(_ count: Int, _ tally: Tally = Tally()) -> (Double) -> Void {
    let observable = Observable(0.0)
    let tokens = (0..<count).map { observable.observe(tally.body($0)) }
    return { value in withExtendedLifetime(tokens) { observable.value = value } }
  }

  private static func lent(_ lent: Lent) -> (Double) -> Void {
    { lent.binding.value = $0 }
  }

  /// Allocations of one set after the first, which creates everything that is reused.
  private static func allocations(_ name: String, _ make: @escaping (Tally) -> (Double) -> Void) -> Count {
    Count(name: "allocations of a set, \(name)", limit: 0) {
      let tally = Tally()
      let set = make(tally)
      for value in 1...1000 { set(Double(value)) }
      let before = allocations_made()
      for value in 1...10_000 { set(Double(value)) }
      return Double(allocations_made() - before) / 10_000
    }
  }

  /// Bytes that one object adds, without the array that holds it.
  private static func bytes(_ used: () -> UInt64) -> Double {
    let count = 100_000
    var objects: [Observable<Double>] = []
    objects.reserveCapacity(count)
    let before = used()
    for number in 0..<count { objects.append(Observable(Double(number))) }
    let after = used()
    return withExtendedLifetime(objects) { Double(after - before) / Double(count) }
  }
}
