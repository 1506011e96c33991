import BindingModel
package import BindingPeer
import BindingProtocol
import Dispatch
package import Logging
import NIOCore
import NIOPosix

/// Bridges models and an MQTT broker: the shell of `MQTTBridgeMachine`, with a peer, connections and time. It goes on
/// until it is closed, whatever fails meanwhile.
package final class MQTTBridge: Sendable {
  /// What a bridge does.
  package struct Configuration: Sendable {
    package var broker: MQTTAddress
    package var password: String?
    /// A file of certificates to trust instead of the system's.
    package var authorities: String?
    /// By which the broker knows the bridge again; two bridges with one name end each other's connections.
    package var client: String
    package var topics: BridgeTopics
    /// Whether Home Assistant is told of the fields, and under which prefix; nil: it is not.
    package var home: String?
    /// The models: all below these prefixes, `""` is all, and those with these ids.
    package var models: [String] = [""]

    package init(broker: MQTTAddress, client: String, topics: BridgeTopics) {
      (self.broker, self.client, self.topics) = (broker, client, topics)
    }

    /// What a client of this name says first.
    func connect(as client: String) -> MQTTConnect {
      var connect = MQTTConnect(client: client)
      (connect.user, connect.password) = (broker.user, password)
      return connect
    }
  }

  private let loop: any EventLoop
  private let state: NIOLoopBound<BridgeState>

  /// Begins to bridge. The peer is not closed by the bridge.
  package init(_ configuration: Configuration, _ peer: Peer, logger: Logger) {
    loop = MultiThreadedEventLoopGroup.singleton.next()
    let (loop, logger) = (loop, logger)
    state = NIOLoopBound.makeInLoop(loop) { BridgeState(configuration, peer, logger, loop) }
    let state = state
    loop.execute { state.value.start() }
  }

  /// What was counted so far.
  package var counters: MQTTBridgeMachine.Counters {
    get async { await ask { $0.machine.counters } }
  }

  /// Whether the broker retains all that the hub has, and every value that came has an outcome.
  package var isSettled: Bool { get async { await ask { $0.machine.isSettled } } }

  /// Tells the broker that the bridge ends, and ends it: at once if the broker is not there, else within a second.
  package func close() async {
    await ask { $0.beginClosing() }
    let deadline = ContinuousClock.now + .seconds(1)
    while await ask({ !$0.hasSaidGoodbye }), ContinuousClock.now < deadline {
      try? await Task.sleep(for: .milliseconds(10))
    }
    await ask { $0.close() }
  }

  private func ask<Answer: Sendable>(_ look: @escaping @Sendable (BridgeState) -> Answer) async -> Answer {
    let state = state
    return await withCheckedContinuation { continuation in
      loop.execute { continuation.resume(returning: look(state.value)) }
    }
  }
}

extension NIOLoopBound where Value == BridgeState {
  /// A value that is made on its loop.
  fileprivate static func makeInLoop(_ loop: any EventLoop, _ make: @escaping @Sendable () -> Value) -> Self {
    // The loop is another thread, which does nothing for this one.
    let made = Protected<NIOLoopBound<Value>?>(nil)
    let isMade = DispatchSemaphore(value: 0)
    loop.execute {
      made.withLock { $0 = NIOLoopBound(make(), eventLoop: loop) }
      isMade.signal()
    }
    isMade.wait()
    // SAFETY: the semaphore is signalled only after it was made.
    guard let made = made.withLock({ $0 }) else { preconditionFailure("the loop has run it") }
    return made
  }
}
