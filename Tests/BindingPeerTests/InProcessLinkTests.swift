import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Testing

/// A way to a hub of this process that ends connections when a test asks for it.
private final class EndingTransport: InProcessTransport {
  private let hub: Hub
  private let ends = Protected<[@Sendable () -> Void]>([])

  init(_ hub: Hub) { self.hub = hub }

  /// How often the peer has connected.
  var count: Int { ends.withLock { $0.count } }

  func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection {
    ends.withLock { $0.append(ended) }
    return hub.connect(deliver: deliver, ended: ended)
  }

  /// Tells the peer that a connection has ended.
  func end(_ index: Int) { ends.withLock { $0[index] }() }
}

@Suite("A link to a hub in the same process")
struct InProcessLinkTests {
  @Test("a connection does not end because an earlier one does, however late that is told")
  func lateEnd() async throws {
    try await withHub { hub in
      let transport = EndingTransport(hub)
      let peer = try Peer(name: "app", hub: .inProcess(transport))
      let lamp = try peer.model("lamp")
      #expect(await lamp.whenCurrent(timeout: .seconds(20)))
      transport.end(0)
      #expect(await eventually { transport.count == 2 && lamp.status.isCurrent })
      transport.end(0)
      let level = FieldOperation(.set, "level", try FieldValue(text: "0.5"))
      _ = try await lamp.write(Proposal(operations: [level])).committed
      #expect(transport.count == 2)
    }
  }

  @Test("a hub does not tell of the end of a connection that was closed before")
  func closed() async throws {
    try await withHub { hub in
      let ends = Protected<[String]>([])
      let closed = hub.connect(deliver: { _ in }, ended: { ends.withLock { $0.append("closed") } })
      _ = hub.connect(deliver: { _ in }, ended: { ends.withLock { $0.append("open") } })
      closed.close()
      hub.stop()
      #expect(ends.withLock { $0 } == ["open"])
    }
  }
}
