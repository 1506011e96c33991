import BindingPeer
import BindingProtocol

/// A peer in the world: its session, both ends of its connections, and what its application remembers in order to
/// check the session's promises.
final class SimulatedPeer {
  /// A write of its application. A class: every update reads it, and a copy would retain each of its parts.
  final class Write {
    let model: Int
    /// The plain values that it set.
    let fields: [(field: Int, value: FieldValue)]
    let isPlain: Bool
    let condition: Condition?
    /// What it put into gathering fields, including what it superseded.
    @exclusivity(unchecked) var gathered: [(field: Int, element: Int)]
    /// The value that it set when it was made, if it has a merge rule.
    let original: FieldValue?
    /// How often the application was asked to merge it.
    @exclusivity(unchecked) var questions = 0
    /// Whether it adds to text or exceeds the hops.
    let mayBeRefused: Bool
    @exclusivity(unchecked) var isWithdrawn: Bool

    init(
      model: Int, fields: [(field: Int, value: FieldValue)], isPlain: Bool, condition: Condition? = nil,
      gathered: [(field: Int, element: Int)] = [], original: FieldValue? = nil, mayBeRefused: Bool,
      isWithdrawn: Bool = false
    ) {
      self.model = model
      self.fields = fields
      self.isPlain = isPlain
      self.condition = condition
      self.gathered = gathered
      self.original = original
      self.mayBeRefused = mayBeRefused
      self.isWithdrawn = isWithdrawn
    }
  }
  /// The last plain write of a field, whose value shows.
  struct Plain {
    let id: WriteID
    let value: FieldValue
  }
  /// Its index in the world.
  let index: Int
  @exclusivity(unchecked) var session: Session
  @exclusivity(unchecked) var output = PeerOutput()
  /// Counts its connections; frames of an earlier one are lost.
  @exclusivity(unchecked) var generation: Int
  /// The hub's number for the present connection.
  @exclusivity(unchecked) var hubSide = -1
  @exclusivity(unchecked) var isConnected = false
  /// The subscribed heartbeats and models; too few to be worth hashing.
  @exclusivity(unchecked) var topics: [Topic] = []
  @exclusivity(unchecked) var sessionOnTheWire: SessionID = 0
  @exclusivity(unchecked) var run = 0
  /// While its process is stopped, arriving frames wait in `inbox`.
  @exclusivity(unchecked) var isPaused = false
  @exclusivity(unchecked) var pausedAt: UInt64 = 0
  /// How long it was stopped in total.
  @exclusivity(unchecked) var slept: UInt64 = 0
  @exclusivity(unchecked) var inbox: [(generation: Int, frame: [UInt8])] = []
  /// How many frames of `inbox` are published ones.
  @exclusivity(unchecked) var publishedInInbox = 0
  /// Until then no published frame reaches it, or none of its frames reaches the hub.
  @exclusivity(unchecked) var deafUntil: UInt64 = 0
  @exclusivity(unchecked) var muteUntil: UInt64 = 0
  let clockOffset: UInt64
  /// When the last frame of each connection arrives: frames keep their order.
  @exclusivity(unchecked) var lastRequestArrival: UInt64 = 0
  @exclusivity(unchecked) var lastPublishArrival: UInt64 = 0
  @exclusivity(unchecked) var lastUpArrival: UInt64 = 0
  @exclusivity(unchecked) var lastSubscriptionArrival: UInt64 = 0

  @exclusivity(unchecked) var unacknowledged = WriteBook()
  /// By model and field.
  @exclusivity(unchecked) var lastPlain: [[Plain?]]
  /// Where the last plain write of a field was acknowledged, while the replica has not reached that version.
  @exclusivity(unchecked) var acknowledged: [(model: Int, field: Int, epoch: Epoch, version: Version)] = []
  /// The write that made each value.
  @exclusivity(unchecked) var writers: [FieldValue: WriteID] = [:]
  /// By model: the value of each field that observers were last notified of.
  @exclusivity(unchecked) var notified: [[FieldValue?]]
  /// By model: the version that it last showed.
  @exclusivity(unchecked) var seen: [(epoch: Epoch, version: Version)]
  /// Whether the hub once did not know it any more.
  @exclusivity(unchecked) var wasForgotten = false
  /// Whether it was once told that an outcome is unknown; it may have sent that write again under a later number.
  @exclusivity(unchecked) var receivedUnknown = false
  /// The lowest unacknowledged number that each of its joins reported.
  @exclusivity(unchecked) var asked: [UInt32: ProposalNumber] = [:]
  /// The version in the answer to each join.
  @exclusivity(unchecked) var answered: [UInt32: Version] = [:]
  /// By model.
  @exclusivity(unchecked) var announced: [Bool]
  /// By model: the highest number of each writer whose commit it was shown.
  @exclusivity(unchecked) var saw: [[Tag: ProposalNumber]]
  /// The seen numbers of its offer, as it is sent and as it arrives, and, by model, the epoch in which it first
  /// sent each number.
  @exclusivity(unchecked) var offering: [SeenNumber] = []
  @exclusivity(unchecked) var offered: [SeenNumber] = []
  @exclusivity(unchecked) var firstSent: [[ProposalNumber: Epoch]]
  /// When the hub last received from it.
  @exclusivity(unchecked) var receivedAt: UInt64 = 0
  @exclusivity(unchecked) var steps = 0
  @exclusivity(unchecked) var answers = 0
  /// What it said in an ephemeral model, if it is in one.
  @exclusivity(unchecked) var member: EphemeralMember?
  @exclusivity(unchecked) var barriers: [BarrierID: World.Barrier] = [:]

  /// The file of its outbox, if any, and the run in it that is this session's.
  @exclusivity(unchecked) var book: OutboxBook?
  @exclusivity(unchecked) var bookRun: UInt32 = 0
  /// Earlier runs that wait to be sent, with this session's ids of their writes, and the peer that sends one now.
  @exclusivity(unchecked) var previousRuns: [(run: PreviousRun, ids: [WriteID])] = []
  @exclusivity(unchecked) var carrier: Int?
  /// For a peer that sends an earlier run: its successor, and the successor's id of each write.
  @exclusivity(unchecked) var successor: Int?
  @exclusivity(unchecked) var successorIDs: [WriteID: WriteID] = [:]
  @exclusivity(unchecked) var isOver = false
  /// What it shows, filled on each look.
  @exclusivity(unchecked) var snapshot = ModelSnapshot()

  /// Reads the session without copying it.
  func read<Result>(_ look: (inout Session) -> Result) -> Result { look(&session) }

  init(
    index: Int, session: Session, output: PeerOutput, generation: Int, run: Int, clockOffset: UInt64, models: Int
  ) {
    self.index = index
    self.session = session
    self.output = output
    self.generation = generation
    self.run = run
    self.clockOffset = clockOffset
    lastPlain = Array(repeating: Array(repeating: nil, count: SimulatedField.count), count: models)
    seen = Array(repeating: (0, 0), count: models)
    announced = Array(repeating: false, count: models)
    notified = Array(repeating: Array(repeating: nil, count: SimulatedField.count), count: models)
    saw = Array(repeating: [:], count: models)
    firstSent = Array(repeating: [:], count: models)
  }
}
