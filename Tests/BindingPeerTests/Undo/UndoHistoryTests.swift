import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
}

/// A link over which a peer sends, and while it is deaf receives nothing.
private final class DeafLink: InProcessTransport {
  private let link: TestLink
  let isDeaf = Protected(false)

  init(_ link: TestLink) { self.link = link }

  func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection {
    link.connect(deliver: { [isDeaf] frame in if !isDeaf.withLock({ $0 }) { deliver(frame) } }, ended: ended)
  }
}

@Suite("Undo of a write that arrives with others")
struct UndoHistoryTests {
  @Test("the value before a write whose commit arrived folded is found in the hub's history")
  func folded() async throws {
    try await withHub { hub in
      let link = TestLink(to: hub)
      let ear = DeafLink(link)
      let left = try Peer(name: "left", hub: .inProcess(ear))
      let right = try Peer(name: "right", hub: .inProcess(hub))
      let mine = try await left.share(Lamp.self, id: "lamp", on: .direct)
      let theirs = try await right.share(Lamp.self, id: "lamp", on: .direct)
      _ = try await theirs.$level.write(0.4).committed
      #expect(await eventually { mine.level == 0.4 })
      let undoing = mine.undoing
      ear.isDeaf.withLock { $0 = true }
      mine.level = 0.9
      #expect(await eventually { theirs.level == 0.9 })
      _ = try await theirs.$on.write(true).committed
      link.cut()
      ear.isDeaf.withLock { $0 = false }
      link.heal()
      #expect(await eventually { mine.on && mine.shared?.isCurrent == true })
      #expect(await eventually { undoing.status.canUndo })
      #expect(await mine.undo() == .done(fields: ["level"], inexact: []))
      #expect(mine.level == 0.4)
      #expect(await eventually { theirs.level == 0.4 })
      await left.close(flush: .zero)
      await right.close(flush: .zero)
    }
  }
}
