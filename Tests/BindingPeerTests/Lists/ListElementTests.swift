import BindbusTesting
import BindingModel
import BindingPeer
import BindingProtocol
import Observation
import Testing

@Suite("An element of a list")
struct ListElementTests {
  private final class Seen<Value: Sendable>: Sendable {
    private let values = Protected<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
  }

  @Test("a change of one element notifies its observers and those of the list, no others")
  func identity() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2, 3])
    let (first, second, lists) = (Seen<String?>(), Seen<String?>(), Seen<Int>())
    let tokens = [
      desks.left.$cues[id: 1].observe { first.add($0?.name) }, desks.left.$cues[id: 2].observe { second.add($0?.name) },
      desks.left.$cues.observe { lists.add($0.count) },
    ]
    desks.right.cues[0].name = "one"
    #expect(await eventually { first.all == ["n1", "one"] })
    #expect(second.all == ["n2"] && lists.all.count == 2)
    // A move is the list's, not the element's.
    desks.right.cues.swapAt(0, 2)
    #expect(await eventually { lists.all.count >= 3 && desks.isSettled })
    #expect(first.all == ["n1", "one"] && second.all == ["n2"])
    withExtendedLifetime(tokens) {}
  }

  @Test("a member of an element is bound two ways, wherever the element moves")
  func binding() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2, 3])
    let name = desks.left.$cues[id: 2].name
    let seen = Seen<String?>()
    let token = name.observe { seen.add($0) }
    desks.right.cues = desks.right.cues.reversed()
    #expect(await eventually { desks.left.cues.map(\.id) == [3, 2, 1] })
    name.value = "here"
    #expect(await eventually { desks.right.cues[1].name == "here" })
    desks.right.$cues[id: 2].name.or("").value = "there"
    #expect(await eventually { name.value == "there" })
    desks.right.cues[1].seconds = 5
    #expect(await eventually { desks.left.cues[1].seconds == 5 && desks.isSettled })
    #expect(seen.all == ["n2", "here", "there"])
    withExtendedLifetime(token) {}
  }

  @Test("an element that is removed is nil, refuses writes, and its status says so; if the id comes back, so does it")
  func removed() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2])
    let row = desks.left.$cues[id: 2]
    let (seen, statuses) = (Seen<String?>(), Seen<String>())
    let tokens = [row.observe { seen.add($0?.name) }, row.statuses.observe { statuses.add($0.description) }]
    desks.right.cues.removeLast()
    #expect(await eventually { row.value == nil })
    #expect(row.status == .problem(.noElement(id: "2")))
    #expect(await eventually { statuses.all.last?.contains("there is no element 2") == true })
    #expect(throws: FieldError.list(field: "cues", .noElement(id: "2"))) { try row.write(Cue(2)) }
    #expect(throws: BindingError.self) { try row.name.set("x") }
    #expect(desks.left.cues.map(\.id) == [1])
    desks.right.cues.append(Cue(2, "again"))
    #expect(await eventually { row.value?.name == "again" && seen.all.last == "again" })
    #expect(seen.all == ["n2", nil, "again"])
    #expect(await eventually { if case .current = row.status { true } else { false } })
    withExtendedLifetime(tokens) {}
  }

  @Test("an element keeps its id, is removed by nil, and is inserted and moved without looking through the list")
  func writing() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2, 3])
    #expect(throws: FieldError.list(field: "cues", .otherID("9", of: "2"))) {
      try desks.left.$cues[id: 2].write(Cue(9))
    }
    _ = try await desks.left.$cues.insert(Cue(4, "four"), after: 1).committed
    #expect(desks.left.cues.map(\.id) == [1, 4, 2, 3])
    _ = try await desks.left.$cues.insert(Cue(5), after: nil).committed
    _ = try await desks.left.$cues[id: 3].move(after: 5).committed
    #expect(desks.left.cues.map(\.id) == [5, 3, 1, 4, 2])
    _ = try await desks.left.$cues[id: 2].move(after: nil as Int?).committed
    #expect(desks.left.cues.map(\.id) == [2, 5, 3, 1, 4])
    desks.left.$cues[id: 5].value = nil
    #expect(await eventually { desks.right.cues.map(\.id) == [2, 3, 1, 4] })
    guard case .conflict(let conflict) = await (try desks.left.$cues.insert(Cue(4), after: nil)).outcome else {
      Issue.record("no conflict")
      return
    }
    #expect(conflict.field == "cues@4")
    #expect(desks.left.$cues.elements.map { $0.value.id } == [2, 3, 1, 4])
  }

  @Test("tracked reads of an element are notified of its changes alone")
  func tracking() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2])
    let (one, two) = (desks.left.$cues[id: 1], desks.left.$cues[id: 2])
    let (first, second) = (Seen<Bool>(), Seen<Bool>())
    withObservationTracking {
      _ = one.value
    } onChange: {
      first.add(true)
    }
    withObservationTracking {
      _ = two.value
    } onChange: {
      second.add(true)
    }
    let derived = Derived { two.value?.name ?? "none" }
    #expect(derived.value == "n2")
    desks.right.cues[1].name = "x"
    #expect(await eventually { second.all.count == 1 && derived.value == "x" })
    #expect(first.all.isEmpty)
  }
}
