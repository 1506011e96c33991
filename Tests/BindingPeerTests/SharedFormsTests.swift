import BindbusTesting
import BindingControls
import BindingHub
import BindingModel
import BindingPeer
import Foundation
import Observation
import Testing

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
  @Field var name = "desk"
  @Field var confirmed = "desk"
}

/// The same lamp, declared by a program that allows any level.
private struct WideLamp: Model {
  @Field var level = 0.3
}

/// Tools for values inside one process, on fields that two processes share.
@Suite("Forms, old values and time on shared fields")
@MainActor
struct SharedFormsTests {
  private let left: Peer
  private let right: Peer

  init() throws {
    let hub = try Hub.embedded()
    left = try Peer(name: "left", hub: .inProcess(hub))
    right = try Peer(name: "right", hub: .inProcess(hub))
  }

  private final class Steps {
    var all: [[Double]] = []
    var last: Double? { all.last?.last }
  }

  @Test("an observer of old and new values receives its last value as old, for own and others' writes")
  func oldAndNew() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let theirs = try await right.share(Lamp.self, id: "lamp")
    let steps = Steps()
    theirs.$level.observeOnMain(on: steps, initial: false) { steps, old, new in steps.all.append([old, new]) }
    #expect(steps.all.isEmpty)
    mine.level = 0.5
    #expect(await eventually { steps.last == 0.5 })
    theirs.level = 0.7
    #expect(await eventually { steps.last == 0.7 })
    #expect(steps.all.first?.first == 0.3)
    #expect(zip(steps.all, steps.all.dropFirst()).allSatisfy { $0[1] == $1[0] })
  }

  @Test("a debounced field is delivered once its writer pauses, here and at another peer")
  func debounced() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let theirs = try await right.share(Lamp.self, id: "lamp")
    let clock = StoppedClock()
    let seen = Protected<[String]>([])
    let calm = theirs.$name.debounced(for: .seconds(1), clock: clock.clock)
    let token = calm.observe { name in seen.withLock { $0.append(name) } }
    for count in 1...20 { mine.name = String(repeating: "x", count: count) }
    #expect(await eventually { theirs.name.count == 20 && clock.alarms > 0 })
    #expect(seen.withLock { $0 } == ["desk"])
    // The last value may still be on its way to the observers.
    #expect(
      await eventually {
        clock.pass(nanoseconds: 1_000_000_000)
        return calm.value.count == 20
      })
    #expect(seen.withLock { $0.last?.count } == 20)
    withExtendedLifetime(token) {}
  }

  /// A clock that a test advances.
  private final class StoppedClock: Sendable {
    private typealias Alarm = (at: UInt64, work: @Sendable () -> Void)
    private let hand = Protected((now: UInt64(0), alarms: [Alarm]()))

    var alarms: Int { hand.withLock { $0.alarms.count } }

    var clock: PaceClock {
      PaceClock(
        now: { self.hand.withLock { $0.now } },
        after: { nanoseconds, work in self.hand.withLock { $0.alarms.append(($0.now + nanoseconds, work)) } })
    }

    func pass(nanoseconds: UInt64) {
      let due = hand.withLock { hand in
        hand.now += nanoseconds
        let due = hand.alarms.filter { $0.at <= hand.now }
        hand.alarms.removeAll { $0.at <= hand.now }
        return due.map(\.work)
      }
      for work in due { work() }
    }
  }

  @Test("a validated field sends only valid values, and follows another peer")
  func validated() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let theirs = try await right.share(Lamp.self, id: "lamp")
    let name = Validated(mine.$name) { $0.isEmpty ? "a name, please" : nil }
    let (field, hint) = (TextField(), Label())
    field.bind(to: name)
    name.problems.show(in: hint)
    field.enter("")
    #expect(hint.text == "a name, please")
    #expect(mine.name == "desk")
    field.enter("shelf")
    #expect(hint.text == nil && mine.name == "shelf")
    #expect(await eventually { theirs.name == "shelf" })
    theirs.name = "hall"
    #expect(await eventually { field.text == "hall" })
    #expect(name.value == "hall" && name.isValid)
  }

  @Test("a validation rule runs again when another peer writes the field that it reads")
  func validatedAgain() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let theirs = try await right.share(Lamp.self, id: "lamp")
    let name = Validated(mine.$name) { _ in nil }
    let confirmed = Validated(mine.$confirmed) { $0 == name.value ? nil : "not the same" }
    #expect(confirmed.isValid)
    theirs.name = "hall"
    #expect(await eventually { confirmed.problem == "not the same" })
    confirmed.value = "hall"
    #expect(confirmed.isValid)
    #expect(await eventually { theirs.confirmed == "hall" })
  }

  @Test("a value that the declaration does not allow is the problem of a validated field")
  func declaration() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let level = Validated(mine.$level, map: NumberText())
    level.value = "7"
    #expect(level.problem != nil && mine.level == 0.3)
    level.value = "0.7"
    #expect(level.isValid && mine.level == 0.7)
  }

  /// A form on a field whose description is narrower than this program's declaration.
  private func wideForm() async throws -> (narrow: Lamp, wide: WideLamp, level: Validated<String>) {
    let narrow = try await right.share(Lamp.self, id: "lamp")
    narrow.level = 0.5
    let seen = try left.model("lamp")
    let half = try FieldValue(text: "0.5")
    #expect(await eventually { seen["@description"] != nil && seen["level"] == half })
    let wide = try await left.share(WideLamp.self, id: "lamp")
    #expect(await eventually { wide.level == 0.5 && wide.shared?.modelDescription.fields["level"]?.maximum == nil })
    let text = #"{"fields":{"level":{"type":"number","min":0,"max":1}}}"#
    let described = FieldOperation(.set, "@description", try FieldValue(text: text))
    #expect(try await seen.write(Proposal(operations: [described])).committed > 0)
    #expect(await eventually { wide.shared?.modelDescription.fields["level"]?.maximum?.double == 1 })
    return (narrow, wide, Validated(wide.$level, map: NumberText()))
  }

  private static let refusal = "refused: lamp.level: 7 is not in 0...1"

  @Test("the hub's refusal is the problem of the validated field and its form until another value is accepted")
  func refusedByHub() async throws {
    let (narrow, wide, level) = try await wideForm()
    let (field, hint, form) = (TextField(), Label(), ValidatedForm(level))
    field.bind(to: level)
    level.problems.show(in: hint)
    field.enter("7")
    #expect(await eventually { hint.text == Self.refusal })
    #expect(!level.isValid && !form.isValid)
    #expect(await eventually { wide.level == 0.5 })
    #expect(field.text == "7" && level.value == "7")
    #expect(hint.text == Self.refusal)
    field.enter("0.75")
    #expect(level.isValid && form.isValid)
    #expect(await eventually { hint.text == nil && narrow.level == 0.75 })
    #expect(level.isValid && field.text == "0.75")
  }

  @Test("a refusal that the hub sends before the write returns is the problem of the validated field")
  func refusedAtOnce() async throws {
    let (_, wide, level) = try await wideForm()
    // Called while the write is being made, on this thread.
    withObservationTracking {
      _ = wide.level
    } onChange: {
      let deadline = ContinuousClock.now + .seconds(20)
      while wide.shared?.status.unconfirmed != 0, .now < deadline { Thread.sleep(forTimeInterval: 0.001) }
    }
    level.value = "7"
    // The link's thread tells it just after the write has its outcome.
    let rejected = FieldStatus.problem(.rejected(Self.refusal, current: try FieldValue(text: "0.5")))
    #expect(await eventually { wide.$level.status == rejected && level.problem == Self.refusal })
    #expect(level.value == "7")
  }

  @Test("a refused value is dropped when another peer writes the field, or when it is discarded")
  func refusedThenFollowed() async throws {
    let (narrow, wide, level) = try await wideForm()
    level.value = "7"
    #expect(await eventually { level.problem == Self.refusal && wide.level == 0.5 })
    narrow.level = 0.25
    #expect(await eventually { level.value == "0.25" })
    #expect(level.isValid)
    level.value = "7"
    #expect(await eventually { level.problem == Self.refusal && wide.level == 0.25 })
    level.discard()
    #expect(level.value == "0.25" && level.isValid)
  }

  @Test("a slider that writes on release sends one value to the other peer")
  func commitOnLeave() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let theirs = try await right.share(Lamp.self, id: "lamp")
    let steps = Steps()
    theirs.$level.observeOnMain(on: steps, initial: false) { steps, old, new in steps.all.append([old, new]) }
    let slider = Slider()
    slider.bind(to: mine.$level, map: Precision(), commit: .onLeave)
    slider.grab()
    for position in 1...7 { slider.drag(to: Float(position) / 8) }
    #expect(mine.level == 0.3)
    slider.letGo()
    #expect(mine.level == 0.875)
    #expect(await eventually { theirs.level == 0.875 && steps.last == 0.875 })
    #expect(steps.all == [[0.3, 0.875]])
  }

  @Test("a text that another peer changes during typing stays until the user gives it up")
  func escape() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let theirs = try await right.share(Lamp.self, id: "lamp")
    let field = TextField()
    field.bind(to: mine.$name, commit: .onLeave)
    field.becomeFirstResponder()
    field.enter("shelf")
    theirs.name = "hall"
    #expect(await eventually { mine.name == "hall" })
    #expect(field.text == "shelf")
    field.pressEscape()
    field.resignFirstResponder()
    #expect(field.text == "hall" && mine.name == "hall")
  }
}
