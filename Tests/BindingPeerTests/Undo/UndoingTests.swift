import BindbusTesting
import BindingControls
import BindingHub
import BindingModel
import BindingPeer
import Observation
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
  @Field(policy: .text) var note = ""
  @Field(policy: .add) var uses = 0
}

@Suite("Undo between two peers")
struct UndoingTests {
  private let peers: TwoPeers

  init() throws { peers = try TwoPeers() }

  private func lamps() async throws -> (mine: Lamp, theirs: Lamp) {
    (try await peers.share(Lamp.self, by: peers.left), try await peers.share(Lamp.self, by: peers.right))
  }

  @Test("undo and redo reach every peer, and say which fields")
  func reaches() async throws {
    let (mine, theirs) = try await lamps()
    _ = mine.undoing
    _ = try await mine.$level.write(0.8).committed
    #expect(await mine.undo() == .done(fields: ["level"], inexact: []))
    #expect(mine.level == 0.3)
    #expect(await eventually { theirs.level == 0.3 })
    #expect(await mine.undo() == .nothing)
    #expect(await mine.redo() == .done(fields: ["level"], inexact: []))
    #expect(await eventually { theirs.level == 0.8 })
  }

  @Test("what another peer changed since is said with its name, and stays")
  func named() async throws {
    let (mine, theirs) = try await lamps()
    _ = mine.undoing
    _ = try await mine.$level.write(0.8).committed
    #expect(await eventually { theirs.level == 0.8 })
    _ = try await theirs.$level.write(0.5).committed
    #expect(await eventually { mine.level == 0.5 })
    guard case .failed(let reason) = await mine.undo() else { return #expect(Bool(false)) }
    #expect(reason.hasPrefix("level was changed by right-") && reason.hasSuffix(" since"))
    #expect(mine.level == 0.5)
    #expect(mine.$level.status == .current(version: mine.shared?.version.version ?? 0) || mine.level == 0.5)
    #expect(await mine.undo() == .nothing)
  }

  @Test("an undo shows before it returns, on every thread, without waiting for the hub")
  func immediate() async throws {
    let (mine, _) = try await lamps()
    let undoing = mine.undoing
    mine.level = 0.8
    let undo = Task { await undoing.undo() }
    #expect(await eventually { mine.level == 0.3 })
    #expect(await undo.value == .done(fields: ["level"], inexact: []))
  }

  @Test("a group is one step, and a change that is not undoable is none")
  func grouped() async throws {
    let (mine, _) = try await lamps()
    mine.undoing.group {
      mine.level = 0.8
      mine.on = true
    }
    _ = try await mine.change(.notUndoable) { $0.uses = 5 }.committed
    guard case .done(let fields, _) = await mine.undo() else { return #expect(Bool(false)) }
    #expect(fields == ["level", "on"])
    #expect(!mine.on && mine.level == 0.3 && mine.uses == 5)
    #expect(await mine.undo() == .nothing)
  }

  @Test("the status for a menu is observed and tracked")
  func statuses() async throws {
    let (mine, _) = try await lamps()
    let undoing = mine.undoing
    let seen = Protected<[String]>([])
    let token = undoing.statuses.observe { status in seen.withLock { $0.append("\(status)") } }
    let changes = Protected(0)
    withObservationTracking {
      _ = undoing.status.canUndo
    } onChange: {
      changes.withLock { $0 += 1 }
    }
    _ = try await mine.$level.write(0.8).committed
    await mine.undo()
    #expect(undoing.status.redoes == ["level"] && !undoing.status.canUndo && undoing.status.canRedo)
    #expect(await eventually { seen.withLock { $0.last } == "undo: nothing; redo: level" })
    #expect(seen.withLock { $0 }.contains("undo: level; redo: nothing"))
    #expect(changes.withLock { $0 } == 1)
    token.cancel()
  }

  @Test("a model that was never shared has nothing to undo")
  func unshared() async {
    let lamp = Lamp()
    lamp.level = 0.8
    #expect(await lamp.undo() == .nothing)
    #expect(!lamp.undoing.status.canUndo)
  }

  @Test("an undo at a closed peer says so")
  func closed() async throws {
    let (mine, _) = try await lamps()
    _ = mine.undoing
    _ = try await mine.$level.write(0.8).committed
    await peers.left.close()
    guard case .failed(let reason) = await mine.undo() else { return #expect(Bool(false)) }
    #expect(reason.contains("this peer has stopped"))
  }

  @Test("two people who type into one text at 30 ms a key undo only their own words")
  func typing() async throws {
    let (mine, theirs) = try await lamps()
    _ = try await mine.$note.write("| start |").committed
    #expect(await eventually { theirs.note == "| start |" })
    let (left, right) = (mine.undoing, theirs.undoing)
    @Sendable func type(_ words: String, into lamp: Lamp, atFront: Bool) async throws {
      var typed = ""
      for key in words {
        // The pace of a typist.
        try await Task.sleep(for: .milliseconds(30))
        let now = lamp.note
        let rest = atFront ? String(now.dropFirst(typed.count)) : String(now.dropLast(typed.count))
        typed.append(key)
        // As a text field does: what others type meanwhile is no edit of this one.
        try lamp.shared?.write(atFront ? typed + rest : rest + typed, to: "note", editedFrom: now)
      }
    }
    async let one: Void = type("alpha beta ", into: mine, atFront: true)
    async let other: Void = type(" gamma delta", into: theirs, atFront: false)
    _ = try await (one, other)
    #expect(await eventually { mine.note == theirs.note && mine.shared?.status.unconfirmed == 0 })
    #expect(mine.note.contains("alpha") && mine.note.contains("delta"), "\(mine.note)")
    while left.status.canUndo { guard case .done = await left.undo() else { break } }
    #expect(await eventually { theirs.note == mine.note })
    #expect(!theirs.note.contains("alpha") && !theirs.note.contains("beta"), "\(theirs.note)")
    #expect(theirs.note.contains("gamma") && theirs.note.contains("delta"), "\(theirs.note)")
    while right.status.canUndo { guard case .done = await right.undo() else { break } }
    #expect(await eventually { mine.note == theirs.note && mine.shared?.status.unconfirmed == 0 })
    #expect(mine.note.split(separator: " ") == ["|", "start", "|"], "\(mine.note)")
  }
}

@Suite("Undo of what a person does in controls")
@MainActor
struct UndoControlTests {
  @Test("a slider dragged over a hundred positions and a field from focus to focus are one step each")
  func sessions() async throws {
    let peers = try TwoPeers()
    let lamp = try await peers.left.share(Lamp.self, id: "lamp", timeout: .seconds(20))
    _ = lamp.undoing
    let (slider, field) = (Slider(), TextField())
    slider.bind(to: lamp.$level, map: Conversion(forward: { Float($0) }, back: { Double($0) }))
    field.bind(to: lamp.$note)
    slider.grab()
    for position in 1...100 { slider.drag(to: Float(position) / 100) }
    slider.letGo()
    field.becomeFirstResponder()
    for key in "hello" { field.type(String(key)) }
    field.resignFirstResponder()
    #expect(lamp.level == 1 && lamp.note == "hello")
    guard case .done(["note"], _) = await lamp.undo() else { return #expect(Bool(false)) }
    #expect(lamp.note.isEmpty && lamp.level == 1)
    guard case .done(["level"], _) = await lamp.undo() else { return #expect(Bool(false)) }
    #expect(lamp.level == 0.3)
    #expect(await lamp.undo() == .nothing)
    #expect(abs(slider.value - 0.3) < 0.001 && field.text == "")
  }
}
