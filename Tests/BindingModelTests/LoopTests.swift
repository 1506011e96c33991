import BindingModel
import Testing

/// Each test uses its own value types, since loops of all tests are reported to one place.
@Suite("values that answer each other endlessly", .serialized)
struct LoopTests {
  private static let limit = Turn.loopLimit

  /// Returns the loops reported during `body` among values of types with this name.
  private func loops(of name: String, during body: () -> Void) -> [Turn.Loop] {
    let (found, former) = (Recorder<Turn.Loop>(), Turn.onLoop)
    Turn.onLoop = { found.record($0) }
    defer { Turn.onLoop = former }
    body()
    return found.all.filter { $0.description.contains(name) }
  }

  private struct Ping: Equatable, Sendable { var number = 0 }
  private struct Pong: Equatable, Sendable { var number = 0 }

  @Test("a loop of two values is cut and reported, and observers got the present values", .timeLimit(.minutes(1)))
  func pair() {
    let (ping, pong) = (Observable(Ping()), Observable(Pong()))
    let (pings, pongs) = (Recorder<Int>(), Recorder<Int>())
    var tokens = [ping.observe { pings.record($0.number) }, pong.observe { pongs.record($0.number) }]
    tokens.append(ping.observe { if $0.number > 0 { pong.value.number = $0.number + 1 } })
    let found = loops(of: "Ping") {
      tokens.append(pong.observe { if $0.number > 0 { ping.value.number = $0.number + 1 } })
      ping.value.number = 1
    }
    #expect(found.count == 1)
    #expect(found.first?.values.count == 2)
    #expect(found.first?.description.contains("Pong(number: \(pong.value.number))") == true)
    #expect(pings.all.last == ping.value.number)
    #expect(pongs.all.last == pong.value.number)
    #expect(pings.all.count >= Self.limit)
    tokens.removeLast()
    ping.value.number = -5
    #expect(pings.all.last == -5, "the turn after it is like any other")
  }

  private struct Single: Equatable, Sendable { var number = 0 }

  @Test("a loop of one value that answers itself from its first callback on is cut", .timeLimit(.minutes(1)))
  func oneValue() {
    let value = Observable(Single())
    let seen = Recorder<Int>()
    let found = loops(of: "Single") {
      let token = value.observe {
        seen.record($0.number)
        value.value.number = $0.number + 1
      }
      token.cancel()
    }
    #expect(found.map(\.values.count) == [1])
    #expect(found.first?.description.contains("this value answers itself") == true)
    #expect(seen.all == Array(0..<seen.all.count), "a value was lost or repeated")
    #expect(seen.all.last == value.value.number)
  }

  private struct Own: Equatable, Sendable { var number = 0 }

  @Test(
    "a loop of a derived value that writes its own source, read directly or indirectly, is cut",
    .timeLimit(.minutes(1)), arguments: [0, 1, 3])
  func writesItsSource(between: Int) {
    let value = Observable(Own())
    var source = Derived { value.value.number }
    for _ in 0..<between { source = source.derived { $0 } }
    let derived = Derived { [source] in
      let number = between == 0 ? value.value.number : source.value
      if number > 0 { value.value.number = number + 1 }
      return number
    }
    let seen = Recorder<Int>()
    let token = derived.observe { seen.record($0) }
    let found = loops(of: "Own") { value.value.number = 1 }
    #expect(found.map(\.values.count) == [1])
    #expect(seen.all.count >= Self.limit)
    value.value.number = -1
    #expect(seen.all.last == -1 && derived.value == -1, "the turn after it is like any other")
    withExtendedLifetime(token) {}
  }

  private struct Split: Equatable, Sendable { var number = 0 }

  @Test("a loop in which each answer has two answers is cut", .timeLimit(.minutes(1)))
  func branching() {
    let value = Observable(Split(), filter: .everyWrite)
    let found = loops(of: "Split") {
      let tokens = (0..<2).map { _ in
        value.observe { if $0.number > 0 { value.value = Split(number: $0.number + 1) } }
      }
      value.value = Split(number: 1)
      withExtendedLifetime(tokens) {}
    }
    #expect(found.count == 1)
  }

  private struct Source: Equatable, Sendable { var number = 0 }

  @Test("a loop through a derived value is cut, and that value matches its source", .timeLimit(.minutes(1)))
  func derived() {
    let source = Observable(Source())
    let next = source.derived { $0.number + 1 }
    let seen = Recorder<Int>()
    let found = loops(of: "Source") {
      let token = next.observe {
        seen.record($0)
        if $0 > 1 { source.value.number = $0 }
      }
      source.value.number = 1
      token.cancel()
    }
    #expect(found.count == 1)
    #expect(seen.all.last == next.value)
    #expect(next.value == source.value.number + 1)
  }

  private struct Chosen: Equatable, Sendable { var number = 0 }

  @Test("a loop through a link and a flattened binding is cut", .timeLimit(.minutes(1)))
  func linkedAndFlattened() {
    let (left, right) = (Observable(Chosen()), Observable(Chosen()))
    let link = left.binding.bind(to: right.binding)
    let selection = Observable(right.binding)
    let seen = Recorder<Int>()
    let found = loops(of: "Chosen") {
      let token = selection.flattened().observe {
        seen.record($0.number)
        if $0.number > 0 { left.value.number = $0.number + 1 }
      }
      left.value.number = 1
      token.cancel()
    }
    #expect(found.count == 1)
    #expect(seen.all.last == right.value.number)
    #expect(left.value == right.value)
    link.cancel()
  }

  private struct Polite: Equatable, Sendable { var number = 0 }

  @Test("90 answers that settle, and 100,000 values that each write the next and a sum, are not reported as loops")
  func legal() {
    let found = loops(of: "Polite") {
      let ping = Observable(Polite())
      let talk = ping.observe { if $0.number < 90 { ping.value.number = $0.number + 1 } }
      #expect(ping.value.number == 90)

      let chain = (0...100_000).map { _ in Observable(Polite()) }
      let sum = Observable(Polite())
      var tokens = (0..<100_000).map { index in
        chain[index].observe { value in
          guard value.number > 0 else { return }
          chain[index + 1].value = value
          sum.value.number += 1
        }
      }
      tokens.append(sum.observe { _ in })
      chain[0].value.number = 7
      #expect(chain[100_000].value.number == 7)
      #expect(sum.value.number == 100_000)
      withExtendedLifetime((talk, tokens)) {}
    }
    #expect(found.isEmpty)
  }

  /// Accepts numbers up to a limit.
  private struct Limited: Mapping {
    let limit: Int
    func forward(_ source: Polite) -> Polite { source }
    func back(_ target: Polite) throws(BindingError) -> Polite { Polite(number: min(target.number, limit)) }
  }

  @Test("a chain of 300 links, each with a lower limit than the one before, is not reported as a loop")
  func lossyLinks() {
    let found = loops(of: "Polite") {
      let values = (0...300).map { _ in Observable(Polite()) }
      let links = (0..<300).map { index in
        values[index].binding.bind(to: values[index + 1].binding.map(Limited(limit: 1_000 - index)))
      }
      values[0].value.number = 2_000
      #expect(Set(values.map(\.value.number)) == [701])
      withExtendedLifetime(links) {}
    }
    #expect(found.isEmpty)
  }

  private struct Ring: Equatable, Sendable { var number = 0 }

  private struct OneMore: Mapping {
    func forward(_ source: Ring) -> Ring { Ring(number: source.number + 1) }
    func back(_ target: Ring) throws(BindingError) -> Ring { Ring(number: target.number - 1) }
  }

  @Test("a loop of links alone, each side one more than the other, is cut", .timeLimit(.minutes(1)))
  func ringOfLinks() {
    let values = (0..<3).map { _ in Observable(Ring()) }
    let found = loops(of: "Ring") {
      let links = (0..<3).map { values[$0].binding.bind(to: values[($0 + 1) % 3].binding.map(OneMore())) }
      values[0].value.number = 1
      withExtendedLifetime(links) {}
    }
    #expect(!found.isEmpty)
  }

  private struct Selfish: Equatable, Sendable { var number = 0 }

  @Test("a derived value that reads itself, directly or indirectly, gets its former result and is reported")
  func readsItself() {
    let number = Observable(0)
    let itself = Protected<(first: Derived<Selfish>, second: Derived<Selfish>)?>(nil)
    let first = Derived {
      let former = number.value > 0 ? itself.withLock { $0 }?.second.value.number ?? 0 : 0
      return Selfish(number: number.value + former)
    }
    let second = Derived { first.value }
    #expect(second.value.number == 0)
    itself.withLock { $0 = (first, second) }
    let seen = Recorder<Int>()
    let found = loops(of: "Selfish") {
      let token = second.observe { seen.record($0.number) }
      number.value = 1
      number.value = 10
      token.cancel()
    }
    #expect(seen.all == [0, 1, 11])
    #expect(!found.isEmpty)
    #expect(found.allSatisfy { $0.description.contains("reads itself") && $0.values.count == 1 })
    itself.withLock { $0 = nil }
  }

  #if !os(iOS)
    @Test("a derived value that reads itself in its first computation ends the process with an error message")
    func readsItselfAtFirst() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let itself = Protected<Derived<Int>?>(nil)
        let derived = Derived { (itself.withLock { $0 }?.value ?? 0) + 1 }
        itself.withLock { $0 = derived }
        _ = derived.value
      }
      let output = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
      #expect(output.contains("a Derived reads itself while it is computed for the first time"))
    }
  #endif
}
