import BindingModel

/// Values that follow others, against a write with one observer.
enum Graph: Group {
  static let title = "values that follow others, against a write with 1 observer"

  static var races: [Race] {
    [
      race("two-way pair, from one side to the other", aim: 5) { _ in
        let (left, right) = (Observable(0.0), Observable(0.0))
        let link = left.binding.bind(to: right.binding)
        return Written(left, [link, right])
      },
      race("two-way pair, 1 observer of the other side", aim: nil) { tally in
        let (left, right) = (Observable(0.0), Observable(0.0))
        let link = left.binding.bind(to: right.binding)
        return Written(left, [link, right, right.observe(tally.body())])
      },
      race("derived value, 1 observer", aim: nil) { tally in
        let source = Observable(0.0)
        return Written(source, [source.derived { $0 + 1 }.observe(tally.body())])
      },
      race("diamond of derived values, 1 observer", aim: 8) { tally in
        let source = Observable(0.0)
        let (left, right) = (source.derived { $0 + 1 }, source.derived { $0 * 2 })
        return Written(source, [Derived(left, right) { $0 + $1 }.observe(tally.body())])
      },
    ]
  }

  private static func race(_ name: String, aim: Double?, _ make: @escaping (Tally) -> Written) -> Race {
    Race(name, .atMost(aim)) { ours, theirs in
      let (graph, plain) = (make(ours), Observable(0.0))
      let token = plain.observe(theirs.body())
      let single = Written(plain, [token])
      return (
        { count in
          set(graph.value, count)
          ours.add(graph.value.value)
        },
        { count in withExtendedLifetime(single) { set(plain, count) } }
      )
    }
  }

  /// The written value, with everything that must live for the write to have an effect.
  private final class Written {
    let value: Observable<Double>
    private let rest: [AnyObject]

    init(_ value: Observable<Double>, _ rest: [AnyObject]) {
      self.value = value
      self.rest = rest
    }
  }
}

/// The cost of releasing one of very many, against one of a thousand: per object it should be the same.
enum LettingGo: Group {
  static let title = "one of 20,000 that are let go of, against one of 1,000"

  static var races: [Race] {
    [
      race("cancelling, newest first") { cancel($0) { $0.reversed() } },
      race("cancelling, oldest first") { cancel($0) { $0 } },
      race("letting go of chained derived values", chain),
    ]
  }

  private static func race(_ name: String, _ letGo: @escaping (Int) -> Void) -> Race {
    Race(name, .atMost(2)) { ours, theirs in
      (
        { count in
          for _ in 0..<(count + 19) / 20 { letGo(20_000) }
          ours.add(Double(count))
        },
        { count in
          for _ in 0..<count { letGo(1_000) }
          theirs.add(Double(count))
        }
      )
    }
  }

  private static func cancel(_ count: Int, _ order: ([ObserverToken]) -> [ObserverToken]) {
    let value = Observable(0.0)
    let tokens = (0..<count).map { _ in value.observe { _ in } }
    for token in order(tokens) { token.cancel() }
  }

  private static func chain(_ count: Int) {
    let value = Observable(0.0)
    var end = value.derived { $0 }
    for _ in 1..<count { end = end.derived { $0 } }
    withExtendedLifetime(end) {}
  }
}
