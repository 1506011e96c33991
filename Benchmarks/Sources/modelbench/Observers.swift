import BindingModel
import Observation

/// A delivered write, against calling closures in an array.
enum Observers: Group {
  static let title = "a write with observers, against closures in an array"

  static var races: [Race] {
    [race("1 observer", 1, aim: 3), race("10 observers", 10, aim: 1), race("1,000 observers", 1000, aim: 1)]
      + [race("1 observer of an owner", 1, isOwned: true, aim: 8)]
      + [race("10 observers of an owner", 10, isOwned: true, aim: 8)]
      + [tracked]
  }

  /// The cost for a value that a view once tracked, against one that was never tracked.
  private static var tracked: Race {
    Race("set, 1 observer, tracked before", .atMost(nil)) { ours, theirs in
      let (once, never) = (Observed(1, isOwned: false, ours), Observed(1, isOwned: false, theirs))
      withObservationTracking({ _ = once.value.value }, onChange: {})
      return ({ set(once.value, $0) }, { set(never.value, $0) })
    }
  }

  private static func race(_ name: String, _ count: Int, isOwned: Bool = false, aim: Double) -> Race {
    Race("set, \(name)", .atMost(aim)) { ours, theirs in
      let observed = Observed(count, isOwned: isOwned, ours)
      let closures = Closures((0..<count).map { theirs.body($0) })
      return ({ set(observed.value, $0) }, { set(closures, $0) })
    }
  }

  /// An observable with everything that must live for it to be observed.
  private final class Observed {
    let value = Observable(0.0)
    private let owner = Owner()
    private var tokens: [ObserverToken] = []

    init(_ count: Int, isOwned: Bool, _ tally: Tally) {
      for number in 0..<count {
        let body = tally.body(number)
        tokens.append(isOwned ? value.observe(on: owner, body) : value.observe(body))
      }
    }
  }

  private final class Owner {}

  /// The minimum of a write with observers in plain Swift.
  private final class Closures {
    private(set) var value = 0.0
    private var closures: [(Double) -> Void]

    init(_ closures: [(Double) -> Void]) { self.closures = closures }

    func set(_ new: Double) {
      value = new
      for closure in closures { closure(new) }
    }
  }

  @inline(never)
  private static func set(_ closures: Closures, _ count: Int) {
    var value = 0.0
    for _ in 0..<count {
      value += 1
      closures.set(value)
    }
  }
}
