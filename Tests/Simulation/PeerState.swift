import BindingPeer
import BindingProtocol

/// Both ends of a peer's two connections, to the hub and from it.
struct PeerLink {
  /// Counts its connections; frames of an earlier one are lost.
  var generation: Int
  /// The hub's number for the present connection.
  var hubSide = -1
  var isConnected = false
  /// The hub's number for the last connection that was lost, and the run of the hub that had it.
  var lost = -1
  var lostIn = 0
  /// The subscribed heartbeats and models; too few to be worth hashing.
  var topics: [Topic] = []
  /// The session named in the last frame that it sent.
  var session: SessionID = 0
  /// Until then no published frame reaches it, or none of its frames reaches the hub.
  var deafUntil: UInt64 = 0
  var muteUntil: UInt64 = 0
  /// When the last frame of each connection arrives: frames keep their order.
  var lastRequestArrival: UInt64 = 0
  var lastPublishArrival: UInt64 = 0
  var lastUpArrival: UInt64 = 0
  var lastSubscriptionArrival: UInt64 = 0
  /// When the hub last received from it.
  var receivedAt: UInt64 = 0
}

/// A peer's process, which may be stopped for a while.
struct PeerProcess {
  /// Counts the processes of this peer: events of an earlier one are void.
  var run: Int
  let clockOffset: UInt64
  var isPaused = false
  var pausedAt: UInt64 = 0
  /// When it last read a welcome or a heartbeat.
  var heardAt: UInt64 = 0
  /// What it was told last of the hub's keys.
  var learned: AnnouncedKeys?
  /// How long it was stopped in total.
  var slept: UInt64 = 0
  /// While the process is stopped, arriving frames wait here.
  var inbox: [(generation: Int, frame: [UInt8])] = []
  /// How many frames of `inbox` are published ones.
  var publishedInInbox = 0
  /// Steps of its application, and writes in answer to others', so far.
  var steps = 0
  var answers = 0
  /// Its open questions about the past.
  var histories: [HistoryID: PeerHistory] = [:]

  init(run: Int, clockOffset: UInt64) {
    self.run = run
    self.clockOffset = clockOffset
  }
}

/// The file of a peer's outbox, and the earlier runs whose writes it still has to send.
struct PeerOutbox {
  /// The file, if any, and the run in it that is this session's.
  var book: OutboxBook?
  var bookRun: UInt32 = 0
  var keeping = PeerKeeping()
  /// Earlier runs that wait to be sent, with this session's ids of their writes, and the peer that sends one now.
  var previousRuns: [(run: PreviousRun, ids: [WriteID])] = []
  var carrier: SimulatedPeer?
  /// For a peer that sends an earlier run: its successor, and the successor's id of each write.
  var successor: SimulatedPeer?
  var successorIDs: [WriteID: WriteID] = [:]
  /// The models of its writes.
  var models: [WriteID: String] = [:]
  var isOver = false
  /// The runs of the file that the hub once did not know: who sends their writes later is not told again.
  var forgottenRuns: Swift.Set<UInt32> = []
}

/// An application's writes that have no outcome yet, or whose outcome its replica has not reached.
struct OwnWrites {
  /// The last plain write of a field, whose value shows.
  struct Plain {
    let id: WriteID
    let value: FieldValue
  }
  var unacknowledged = WriteBook()
  /// By model and field.
  var lastPlain: [[Plain?]]
  /// Where the last plain write of a field was acknowledged, while the replica has not reached that version.
  var acknowledged: [(model: Int, field: Int, epoch: Epoch, version: Version)] = []
  /// The writes in the model for undo that have no outcome, and whether they take a step back.
  var undone: [WriteID: Bool] = [:]
  /// By field: values that it wrote in that model and withdrew before they were sent. A redo writes them again.
  var withdrawn: [String: Swift.Set<FieldValue?>] = [:]
  /// The write that made each value.
  var writers: [FieldValue: WriteID] = [:]

  init(models: Int) {
    lastPlain = Array(repeating: Array(repeating: nil, count: SimulatedField.count), count: models)
  }

  mutating func record(_ write: SimulatedWrite, _ proposal: Proposal, as id: WriteID) {
    let model = write.model
    for (_, value) in write.fields { writers[value] = id }
    unacknowledged.add(write, as: id)
    if proposal.operations.contains(where: { $0.verb == .clear }) {
      for field in 0..<SimulatedField.count { lastPlain[model][field] = nil }
      acknowledged.removeAll { $0.model == model }
    }
    for operation in proposal.operations {
      guard let field = SimulatedField.index(of: operation.field) else { continue }
      let isPlain = proposal.isPlainSet && !SimulatedField.isGathered(field)
      lastPlain[model][field] = isPlain ? operation.value.map { Plain(id: id, value: $0) } : nil
      acknowledged.removeAll { $0.model == model && $0.field == field }
    }
  }
}

/// What an application has been shown, by model.
struct ObservedModels {
  /// The value of each field that observers were last notified of.
  var notified: [[FieldValue?]]
  /// The version that it last showed.
  var seen: [(epoch: Epoch, version: Version)]
  /// Whether it was announced below a prefix.
  var announced: [Bool]
  /// What it shows, filled on each look.
  var snapshot = ModelSnapshot()

  init(models: Int) {
    notified = Array(repeating: Array(repeating: nil, count: SimulatedField.count), count: models)
    seen = Array(repeating: (0, 0), count: models)
    announced = Array(repeating: false, count: models)
  }
}

/// What a peer has learned and reported about proposals' numbers.
struct KnownNumbers {
  /// By model: the highest number of each writer whose commit it was shown.
  var seen: [[Tag: ProposalNumber]]
  /// By model: the epoch in which it first sent each number.
  var firstSent: [[ProposalNumber: Epoch]]
  /// The seen numbers of its offer, as it is sent and as it arrives.
  var offering: [SeenNumber] = []
  var offered: [SeenNumber] = []
  /// The lowest unacknowledged number that each of its joins reported, and the version in the answer to each.
  var asked: [UInt32: ProposalNumber] = [:]
  var answered: [UInt32: Version] = [:]
  /// The models in which a number of it was stored when its last hello arrived.
  var storedAtHello: Swift.Set<Int> = []
  /// Whether the hub once did not know it any more.
  var wasForgotten = false
  /// Whether it was once told that an outcome is unknown; it may have sent that write again under a later number.
  var receivedUnknown = false

  init(models: Int) {
    seen = Array(repeating: [:], count: models)
    firstSent = Array(repeating: [:], count: models)
  }
}
