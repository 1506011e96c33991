package import BindingProtocol

/// What the machine wants done: frames to send, batches to store, connections to end. Reused from drain to drain,
/// so steady work allocates nothing.
package struct HubOutput: Sendable {
  /// Where a frame goes.
  package enum Destination: Sendable, Hashable {
    /// All subscribers of the frame's topic.
    case publish
    /// One request connection.
    case connection(ConnectionID)
  }
  /// A page of the models below a prefix: those after a model.
  package struct Listing: Sendable, Hashable {
    package let prefix: String
    package let after: String
  }
  /// For whom a frame is written.
  enum Receiver {
    /// All subscribers of the frame's topic.
    case subscribers(PublishPermit)
    /// One request connection.
    case connection(ConnectionID)

    fileprivate var destination: Destination {
      switch self {
      case .subscribers: .publish
      case .connection(let connection): .connection(connection)
      }
    }
  }

  private var writer = WireWriter(reserving: 65_536)
  private var frames: [(destination: Destination, start: Int, end: Int)] = []
  /// Batches for the store; their results go to `HubMachine.appended`.
  package var batches: [Batch] = []
  /// Request connections to end after the frames are sent.
  package var disconnect: [ConnectionID] = []
  /// Publish connections to end.
  package var cut: [SubscriberID] = []
  /// Models to load from the store; they go to `HubMachine.reloaded`.
  package var reload: [String] = []
  /// A page of models to list in the store; its `listed` goes to `HubMachine.receive`.
  package var list: Listing?
  /// A number to sync the tail with; its `synced` goes to `HubMachine.receive`.
  package var sync: UInt64?
  /// A page of history to read from the store; the answer goes to `HubMachine.answered`.
  package var history: HistoryQuery?
  /// A new epoch, set when acknowledged commits are missing. The store must record it before the batches.
  package var newEpoch: Epoch?
  /// Identities whose outcomes no peer will ask for again, for the store to forget.
  package var forgotten: Set<Tag> = []
  /// Set when stored bytes cannot be read; the hub cannot continue.
  package var failure: StoreError?
  /// Events for the hub's log.
  package var notices: [HubNotice] = []

  /// An empty output.
  package init() {}

  /// Whether there is nothing to send, store, load or end.
  package var isEmpty: Bool {
    frames.isEmpty && batches.isEmpty && disconnect.isEmpty && cut.isEmpty && reload.isEmpty && newEpoch == nil
      && history == nil && list == nil && sync == nil
  }

  /// The number of frames to send.
  package var frameCount: Int { frames.count }
  var byteCount: Int { writer.count }

  /// Passes each frame to `body`, in order. The bytes are valid during the call only.
  package func forEachFrame(_ body: (Destination, UnsafeRawBufferPointer) -> Void) {
    writer.withUnsafeBytes { bytes in
      for frame in frames {
        body(frame.destination, UnsafeRawBufferPointer(rebasing: bytes[frame.start..<frame.end]))
      }
    }
  }

  /// Empties the output and keeps its memory.
  package mutating func removeAll() {
    writer.removeAll()
    frames.removeAll(keepingCapacity: true)
    batches.removeAll(keepingCapacity: true)
    disconnect.removeAll(keepingCapacity: true)
    cut.removeAll(keepingCapacity: true)
    reload.removeAll(keepingCapacity: true)
    newEpoch = nil
    history = nil
    list = nil
    sync = nil
    forgotten.removeAll()
    failure = nil
    notices.removeAll()
  }

  /// Hands over the page of history to read, if there is one.
  package mutating func takeHistory() -> HistoryQuery? {
    defer { history = nil }
    return history
  }

  mutating func frame(to receiver: Receiver, _ write: (inout WireWriter) -> Void) {
    let start = writer.count
    write(&writer)
    frames.append((receiver.destination, start, writer.count))
  }

  /// Sends the last written frame to another destination as well.
  mutating func repeatLastFrame(to connection: ConnectionID) {
    guard let last = frames.last else { return }
    frames.append((.connection(connection), last.start, last.end))
  }

  mutating func send(
    _ message: HubMessage, to receiver: Receiver, topic: Topic = Topics.none, start: StartNumber
  ) {
    frame(to: receiver) { message.write(to: &$0, topic: topic, start: start) }
  }
}

/// An event for the hub's operator. Peers are named with the beginning of their tag.
package enum HubNotice: Sendable, Hashable {
  /// A peer had other values than the hub at the same version, noticed it, and loaded the model again.
  case healed(peer: String, model: String, version: Version)
  /// A peer is ahead in an older epoch, and the hub does not recover from peers.
  case ahead(peer: String, model: String, version: Version, here: Version)
  /// What answers at the address of a sibling keeps another log.
  case otherLog(hub: String)
  /// A comparison found a peer with other values than the hub at the same version.
  case differs(peer: String, model: String, version: Version)
  /// Somebody asked for something without the right to it: the text that it was answered.
  case denied(String)
  /// A limit of a name has held so many times by now. Told of each name and limit at most every 10 s.
  case limited(name: String, kind: NameLimits.Kind, limit: Int, times: UInt64)
  /// The hub is being drained: so many sessions go to other hubs.
  case draining(sessions: Int)
  /// The store could not read a page of history.
  case unreadableHistory(model: String, problem: String)
  /// A peer's declaration of fields differs from the model's description.
  case declaredOtherwise(peer: String, model: String, differences: [RuleDifference])
}
