import BindingModel

#if canImport(RxRelay) && canImport(ReactiveKit)
  import ReactiveKit
  import RxRelay
  import RxSwift

  /// Libraries that are measured only where they are available: see Package.swift.
  enum MoreLibraries: Group {
    static let title = "libraries that were at hand, their time by ours"

    static var races: [Race] {
      [
        Race("set, 1 observer, RxSwift BehaviorRelay", .atLeast(8)) { ours, theirs in
          let observed = Observed(ours)
          let relay = BehaviorRelay(value: 0.0)
          let body = theirs.body()
          let subscription = relay.subscribe(onNext: { body($0) })
          return ({ set(observed, $0) }, { count in withExtendedLifetime(subscription) { set(relay, count) } })
        },
        Race("set, 1 observer, ReactiveKit Property", .atLeast(8)) { ours, theirs in
          let observed = Observed(ours)
          let property = Property(0.0)
          let body = theirs.body()
          let disposable = property.observeNext { body($0) }
          return ({ set(observed, $0) }, { count in withExtendedLifetime(disposable) { set(property, count) } })
        },
      ]
    }

    private final class Observed {
      let value = BindingModel.Observable(0.0)
      private var token: ObserverToken?

      init(_ tally: Tally) { token = value.observe(tally.body()) }
    }

    @inline(never)
    private static func set(_ observed: Observed, _ count: Int) {
      var value = 0.0
      for _ in 0..<count {
        value += 1
        observed.value.value = value
      }
    }

    @inline(never)
    private static func set(_ relay: BehaviorRelay<Double>, _ count: Int) {
      var value = 0.0
      for _ in 0..<count {
        value += 1
        relay.accept(value)
      }
    }

    @inline(never)
    private static func set(_ property: Property<Double>, _ count: Int) {
      var value = 0.0
      for _ in 0..<count {
        value += 1
        property.value = value
      }
    }
  }
#else
  enum MoreLibraries: Group {
    static let title = "RxSwift and ReactiveKit are not at hand: see Benchmarks/README.md"
    static var races: [Race] { [] }
  }
#endif
