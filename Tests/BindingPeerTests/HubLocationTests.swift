import BindingPeer
import Foundation
import Testing

@Suite("The location of a hub")
struct HubLocationTests {
  @Test("a text or a list without an address is refused when the peer is created")
  func refused() {
    #expect(throws: PeerError.self) { try Peer(name: "lost", hub: "nowhere") }
    #expect(throws: PeerError.self) { try Peer(name: "lost", hub: ",") }
    #expect(throws: PeerError.self) { try Peer(name: "lost", hub: .at([])) }
    do throws(PeerError) {
      _ = try Peer(name: "lost", hub: "ipc:///nowhere/hub.sock,elsewhere")
      Issue.record("a peer without an address")
    } catch {
      #expect(error.description.hasPrefix("'elsewhere' is not a hub address: write ipc://"))
    }
  }

  @Test("an outbox that cannot be opened is refused when the peer is created")
  func outbox() {
    do throws(PeerError) {
      _ = try Peer(
        name: "lost", hub: "ipc:///nowhere/hub.sock", configuration: .init(outbox: .file("/nowhere/outbox")))
      Issue.record("a peer without its outbox")
    } catch {
      #expect(error.description.hasPrefix("Cannot use /nowhere/outbox as an outbox: "))
    }
  }
}
