import BindingModel
import Testing

/// Expectations of users of bidirectional binding.
@Suite("linked values")
struct LinkedValuesTests {
  @Test("linked values start with the right one's value and follow each other without duplicates")
  func begin() {
    let (left, right) = (Observable(1), Observable(2))
    let (lefts, rights) = (Recorder<Int>(), Recorder<Int>())
    let tokens = [left.observe { lefts.record($0) }, right.observe { rights.record($0) }]
    let link = left.binding.bind(to: right.binding)
    left.value = 3
    right.value = 4
    #expect(lefts.all == [1, 2, 3, 4])
    #expect(rights.all == [2, 3, 4])
    withExtendedLifetime((tokens, link)) {}
  }

  @Test("two links between the same values do no harm")
  func twice() {
    let (left, right) = (Observable(1), Observable(2))
    let rights = Recorder<Int>()
    let token = right.observe { rights.record($0) }
    let links = [left.binding.bind(to: right.binding), right.binding.bind(to: left.binding)]
    left.value = 3
    right.value = 4
    #expect(left.value == 4 && right.value == 4)
    #expect(rights.all == [2, 3, 4])
    withExtendedLifetime((token, links)) {}
  }

  @Test("a value linked to itself neither changes nor hangs")
  func itself() {
    let value = Observable(1)
    let seen = Recorder<Int>()
    let token = value.observe { seen.record($0) }
    let link = value.binding.bind(to: value.binding)
    value.value = 2
    #expect(seen.all == [1, 2])
    withExtendedLifetime((token, link)) {}
  }

  @Test("two linked members of one value change together")
  func members() {
    struct Pair: Equatable, Sendable { var left = 1, right = 2 }
    let pair = Observable(Pair())
    let link = pair.binding.left.bind(to: pair.binding.right)
    #expect(pair.value == Pair(left: 2, right: 2))
    pair.value.left = 3
    #expect(pair.value == Pair(left: 3, right: 3))
    pair.value = Pair(left: 4, right: 5)
    #expect(pair.value == Pair(left: 5, right: 5))
    link.cancel()
  }

  private struct Whole: Mapping {
    func forward(_ source: Int) -> Double { Double(source) }
    func back(_ target: Double) throws(BindingError) -> Int { Int(target.rounded(.down)) }
  }

  @Test("values linked through a lossy mapping settle and agree", arguments: [2.5, -0.5, 7])
  func lossy(entered: Double) {
    let (exact, whole) = (Observable(0.0), Observable(0))
    let link = exact.binding.bind(to: whole.binding.map(Whole()))
    exact.value = entered
    #expect(exact.value == entered.rounded(.down))
    #expect(whole.value == Int(exact.value))
    link.cancel()
  }

  @Test("a chain of 200 links carries a change from any position to both ends", arguments: [0, 100, 200])
  func row(start: Int) {
    let values = (0...200).map { _ in Observable(0) }
    let links = (0..<200).map { values[$0].binding.bind(to: values[$0 + 1].binding) }
    values[start].value = 7
    #expect(values.allSatisfy { $0.value == 7 })
    values[200 - start].value = 8
    #expect(values.allSatisfy { $0.value == 8 })
    withExtendedLifetime(links) {}
  }

  @Test("a star of 50 links, two of them written in one turn, ends with one value everywhere")
  func star() {
    let centre = Observable(0)
    let points = (0..<50).map { _ in Observable(0) }
    let links = points.map { $0.binding.bind(to: centre.binding) }
    Turn.run {
      points[3].value = 3
      points[40].value = 40
    }
    #expect(Set((points + [centre]).map(\.value)).count == 1)
    withExtendedLifetime(links) {}
  }

  @Test("values can be unlinked inside an observer of one of them")
  func unlinkedInside() {
    let (left, right) = (Observable(0), Observable(0))
    let link = Protected<ObserverToken?>(left.binding.bind(to: right.binding))
    let token = right.observe { value in
      if value == 1 { link.withLock { $0 = nil } }
    }
    left.value = 1
    left.value = 2
    #expect(right.value == 1)
    token.cancel()
  }

  @Test("linked values written by eight threads on both sides end equal")
  func threads() {
    let (left, right) = (Observable(0), Observable(0))
    let link = left.binding.bind(to: right.binding)
    onThreads(8) { thread in
      for number in 0..<300 {
        if thread.isMultiple(of: 2) { left.value = number } else { right.value = -number }
      }
    }
    #expect(left.value == right.value)
    link.cancel()
  }

  @Test("a link keeps neither side alive")
  func letGo() {
    weak var gone: Observable<Int>?
    var token: ObserverToken?
    let other = Observable(1)
    do {
      let side = Observable(2)
      gone = side
      token = side.binding.bind(to: other.binding)
      other.value = 3
      #expect(side.value == 3)
    }
    #expect(gone == nil)
    token?.cancel()
    token = nil
    other.value = 4
    #expect(other.value == 4)
  }

  @Test("a link releases what `onProblem` captured when its token is gone")
  func problemClosure() {
    let (left, right) = (Observable(1), Observable(2))
    weak var gone: Owner?
    do {
      let payload = Owner()
      gone = payload
      let token = left.binding.bind(to: right.binding) { _ in withExtendedLifetime(payload) {} }
      #expect(gone != nil)
      token.cancel()
    }
    #expect(gone == nil)
  }
}
