import BindingModel
import OpenCombine

/// The same tasks with other libraries.
enum OtherLibraries: Group {
  static let title = "other libraries, their time by ours"

  static var races: [Race] {
    [
      Race("set, 1 observer, OpenCombine CurrentValueSubject", .atLeast(3)) { ours, theirs in
        let observed = Observed(ours)
        let subject = CurrentValueSubject<Double, Never>(0)
        let sink = subject.sink(receiveValue: theirs.body())
        return ({ set(observed.value, $0) }, { count in withExtendedLifetime(sink) { set(subject, count) } })
      },
      Race("set, 1 observer, tracked Observation", .atLeast(nil)) { ours, theirs in
        let observed = Observed(ours)
        let tracked = Tracked()
        return ({ set(observed.value, $0) }, { set(tracked, theirs, $0) })
      },
      Race("two-way pair, from one side to the other, OpenCombine", .atLeast(nil)) { ours, theirs in
        let pair = Pair()
        let subjects = SubjectPair()
        return ({ set(pair, ours, $0) }, { set(subjects, theirs, $0) })
      },
    ]
  }

  private final class Observed {
    let value = Observable(0.0)
    private var token: ObserverToken?

    init(_ tally: Tally) { token = value.observe(tally.body()) }
  }

  private final class Pair {
    let left = Observable(0.0)
    let right = Observable(0.0)
    private let link: ObserverToken

    init() { link = left.binding.bind(to: right.binding) }
  }

  private final class SubjectPair {
    let left = CurrentValueSubject<Double, Never>(0)
    let right = CurrentValueSubject<Double, Never>(0)
    private var links: [AnyCancellable] = []

    init() {
      let (left, right) = (left, right)
      // An equal value ends the cycle.
      links.append(left.removeDuplicates().sink { right.value = $0 })
      links.append(right.removeDuplicates().sink { left.value = $0 })
    }
  }

  @inline(never)
  private static func set(_ subject: CurrentValueSubject<Double, Never>, _ count: Int) {
    var value = 0.0
    for _ in 0..<count {
      value += 1
      subject.value = value
    }
  }

  @inline(never)
  private static func set(_ pair: Pair, _ tally: Tally, _ count: Int) {
    var value = 0.0
    var sum = 0.0
    for _ in 0..<count {
      value += 1
      pair.left.value = value
      sum += pair.right.value
    }
    tally.add(sum)
  }

  @inline(never)
  private static func set(_ pair: SubjectPair, _ tally: Tally, _ count: Int) {
    var value = 0.0
    var sum = 0.0
    for _ in 0..<count {
      value += 1
      pair.left.value = value
      sum += pair.right.value
    }
    tally.add(sum)
  }

  /// One change at a time: tracking ends with the change that it reports, and is restarted after each.
  @inline(never)
  private static func set(_ tracked: Tracked, _ tally: Tally, _ count: Int) {
    var value = 0.0
    tracked.track(tally)
    for _ in 0..<count {
      value += 1
      tracked.model.value = value
      tracked.trackAgain(tally)
    }
  }
}
