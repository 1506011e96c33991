import BindingModel
import Testing

@Suite("two-way links")
struct TwoWayLinkTests {
  @Test(
    "behaviours 2, 3: a link starts with the second side's value, without duplicates, then works both ways"
  )
  func bothWays() {
    let control = Observable(0)
    let model = Observable(5)
    let controls = Recorder<Int>()
    let models = Recorder<Int>()
    let tokens = [control.observe { controls.record($0) }, model.observe { models.record($0) }]
    let link = control.binding.bind(to: model.binding)
    #expect(controls.all == [0, 5])
    control.value = 10
    model.value = 20
    control.value = 30
    #expect(controls.all == [0, 5, 10, 20, 30])
    #expect(models.all == [5, 10, 20, 30])
    link.cancel()
    model.value = 40
    control.value = 50
    #expect(control.value == 50)
    #expect(model.value == 40)
    withExtendedLifetime(tokens) {}
  }

  @Test("a mapping that does not round-trip settles after one corrective write and is reported")
  func roundingSettles() {
    let problems = Recorder<BindingError>()
    let typed = Observable("")
    let number = Observable(1.0)
    let texts = Recorder<String>()
    let token = typed.observe { texts.record($0) }
    let link = typed.binding.bind(to: number.binding.map(Halves())) { problems.record($0) }
    texts.clear()
    typed.value = "1.7"
    #expect(number.value == 1.5)
    #expect(problems.all == [BindingError(.corrected, "1.7 was taken as 1.5")])
    #expect(texts.all == ["1.7", "1.5"])
    withExtendedLifetime((token, link)) {}
  }

  @Test("another spelling of the same value is normalized without a problem")
  func sameMeaning() {
    let problems = Recorder<BindingError>()
    let (typed, number) = (Observable(""), Observable(1.0))
    let link = typed.binding.bind(to: number.binding.map(NumberText())) { problems.record($0) }
    typed.value = " 1.50"
    #expect(number.value == 1.5)
    #expect(typed.value == "1.5")
    #expect(problems.all.isEmpty)
    typed.value = "one"
    #expect(problems.all.map(\.reason) == [.unmappable])
    withExtendedLifetime(link) {}
  }

  @Test("a mapping that never settles is stopped after one corrective write")
  func restlessMappingStops() {
    let left = Observable(0)
    let right = Observable(0)
    let lefts = Recorder<Int>()
    let token = left.observe { lefts.record($0) }
    let link = left.binding.map(Restless()).bind(to: right.binding.map(Restless()))
    lefts.clear()
    left.value = 100
    #expect(lefts.all.count <= 2)
    lefts.clear()
    right.value = 500
    #expect(lefts.all.count <= 2)
    withExtendedLifetime((token, link)) {}
  }

  @Test("a value that the mapping rejects is reported, and both sides keep theirs")
  func unmappable() {
    let typed = Observable("")
    let number = Observable(1.0)
    let problems = Recorder<BindingError>()
    let link = typed.binding.bind(to: number.binding.map(Halves())) { problems.record($0) }
    typed.value = "abc"
    #expect(problems.all.map(\.reason) == [.unmappable])
    #expect(typed.value == "abc")
    #expect(number.value == 1)
    typed.value = "2.5"
    #expect(number.value == 2.5)
    number.value = 3
    #expect(typed.value == "3.0")
    withExtendedLifetime(link) {}
  }

  @Test("a value not equal to itself is carried over once")
  func notANumber() {
    let left = Observable(0.0)
    let right = Observable(1.0)
    let writes = Recorder<Double>()
    let token = right.observe { writes.record($0) }
    let link = left.binding.bind(to: right.binding)
    writes.clear()
    left.value = .nan
    #expect(writes.all.count == 1)
    #expect(right.value.isNaN)
    right.value = 2
    #expect(left.value == 2)
    withExtendedLifetime((token, link)) {}
  }

  @Test("a ring of three links settles on one value")
  func ring() {
    let values = (0..<3).map { Observable($0) }
    let links = (0..<3).map { values[$0].binding.bind(to: values[($0 + 1) % 3].binding) }
    values[1].value = 7
    #expect(values.map(\.value) == [7, 7, 7])
    Turn.run {
      values[0].value = 8
      values[2].value = 9
    }
    #expect(Set(values.map(\.value)).count == 1)
    withExtendedLifetime(links) {}
  }

  @Test("both sides written in one turn end with the value of the side that was bound to")
  func bothInOneTurn() {
    let left = Observable(0)
    let right = Observable(0)
    let link = left.binding.bind(to: right.binding)
    Turn.run {
      left.value = 1
      right.value = 2
    }
    #expect(left.value == 2)
    #expect(right.value == 2)
    withExtendedLifetime(link) {}
  }

  @Test("both sides written concurrently never swap endlessly and end equal")
  func crossing() {
    let left = Observable(0)
    let right = Observable(0)
    let link = left.binding.bind(to: right.binding)
    onThreads(4) { thread in
      for write in 0..<2_000 {
        if thread % 2 == 0 { left.value = write } else { right.value = -write }
      }
    }
    #expect(left.value == right.value)
    withExtendedLifetime(link) {}
  }

  @Test("a link keeps neither side alive and ends when one of them goes")
  func lifetimes() {
    var left: Observable<Int>? = Observable(0)
    weak let goneLeft = left
    let right = Observable(1)
    let link = left?.binding.bind(to: right.binding)
    left = nil
    #expect(goneLeft == nil)
    right.value = 2
    right.value = 3
    #expect(right.value == 3)
    #expect(link?.isCancelled == false)
    link?.cancel()
  }

  @Test("releasing the token unlinks")
  func released() {
    let left = Observable(0)
    let right = Observable(1)
    var link: ObserverToken? = left.binding.bind(to: right.binding)
    #expect(link != nil)
    link = nil
    right.value = 2
    #expect(left.value == 1)
  }
}

/// Shows a number as text, rounded down to halves.
private struct Halves: Mapping {
  func forward(_ source: Double) -> String { String(source) }

  func back(_ target: String) throws(BindingError) -> Double {
    guard let number = Double(target) else { throw BindingError(.unmappable, "\"\(target)\" is not a number") }
    return (number * 2).rounded(.down) / 2
  }
}

/// Never returns the value that it was given.
private struct Restless: Mapping {
  func forward(_ source: Int) -> Int { source + 1 }
  func back(_ target: Int) throws(BindingError) -> Int { target + 1 }
}
