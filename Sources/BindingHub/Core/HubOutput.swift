public import BindingProtocol

/// What the machine wants done: frames to send, batches to store, connections to end. Reused from drain to drain, so
/// that steady work allocates nothing.
public struct HubOutput: Sendable {
  public enum Destination: Sendable, Hashable {
    case publish
    case connection(ConnectionID)
  }
  private var writer = WireWriter(reserving: 65_536)
  private var frames: [(destination: Destination, start: Int, end: Int)] = []
  /// To be appended to the store, then told back through `HubMachine.appended`.
  public var batches: [Batch] = []
  /// Request connections to be ended, after the frames were sent.
  public var disconnect: [ConnectionID] = []
  /// Publish connections to be ended.
  public var cut: [SubscriberID] = []
  /// Models to be loaded from the store and given back through `HubMachine.reloaded`.
  public var reload: [String] = []
  /// Set when acknowledged commits are missing: to be noted in the store before the batches are.
  public var newEpoch: Epoch?
  /// The store gave back what cannot be read: the hub cannot go on.
  public var failure: StoreError?
  /// Worth a line in the log.
  public var notices: [HubNotice] = []

  public init() {}

  public var isEmpty: Bool {
    frames.isEmpty && batches.isEmpty && disconnect.isEmpty && cut.isEmpty && reload.isEmpty && newEpoch == nil
  }

  public var frameCount: Int { frames.count }
  var byteCount: Int { writer.count }

  /// Hands each frame to `body`, in order; the bytes are valid during the call.
  public func forEachFrame(_ body: (Destination, UnsafeRawBufferPointer) -> Void) {
    writer.withUnsafeBytes { bytes in
      for frame in frames {
        body(frame.destination, UnsafeRawBufferPointer(rebasing: bytes[frame.start..<frame.end]))
      }
    }
  }

  public mutating func removeAll() {
    writer.removeAll()
    frames.removeAll(keepingCapacity: true)
    batches.removeAll(keepingCapacity: true)
    disconnect.removeAll(keepingCapacity: true)
    cut.removeAll(keepingCapacity: true)
    reload.removeAll(keepingCapacity: true)
    newEpoch = nil
    failure = nil
    notices.removeAll()
  }

  mutating func frame(to destination: Destination, _ write: (inout WireWriter) -> Void) {
    let start = writer.count
    write(&writer)
    frames.append((destination, start, writer.count))
  }

  /// Sends the frame that was written last to another destination too.
  mutating func repeatLastFrame(to destination: Destination) {
    guard let last = frames.last else { return }
    frames.append((destination, last.start, last.end))
  }

  mutating func send(
    _ message: HubMessage, to destination: Destination, topic: Topic = Topics.none, start: StartNumber
  ) {
    frame(to: destination) { message.write(to: &$0, topic: topic, start: start) }
  }
}

/// Something that whoever runs the hub wants to know. Peers are named with the beginning of their tag.
public enum HubNotice: Sendable, Hashable {
  /// A peer had other values than the hub at the same version; it found out by itself and took the model anew.
  case healed(peer: String, model: String, version: Version)
  /// A peer has more of an older life than the hub, which asks nobody for it.
  case ahead(peer: String, model: String, version: Version, here: Version)
  /// A comparison found that a peer has other values than the hub at the same version.
  case differs(peer: String, model: String, version: Version)
  /// A peer declares fields otherwise than the model's description.
  case declaredOtherwise(peer: String, model: String, differences: [RuleDifference])
}
