import BindingPeer
import BindingProtocol

/// A peer in the world: its session, the two ends of its connections, and what its application remembers to hold it to
/// its promises.
final class SimulatedPeer {
  /// What its application wrote. A class: it is looked at with each update, and a copy would count a reference to each
  /// of its parts.
  final class Write {
    let model: Int
    /// What it set, of the fields that have plain values.
    let fields: [(field: Int, value: FieldValue)]
    let isPlain: Bool
    let condition: Condition?
    /// What it put into fields that gather, with all that it took the place of.
    @exclusivity(unchecked) var gathered: [(field: Int, element: Int)]
    /// The value with which it did.
    let original: FieldValue?
    /// How often its application was asked what becomes of it.
    @exclusivity(unchecked) var questions = 0
    /// An addition to text, or one answer too many.
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
  /// Its place in the world.
  let index: Int
  @exclusivity(unchecked) var session: Session
  @exclusivity(unchecked) var output = PeerOutput()
  /// Counts its connections; frames of an earlier one are lost.
  @exclusivity(unchecked) var generation: Int
  /// The number under which the hub knows the present one.
  @exclusivity(unchecked) var hubSide = -1
  @exclusivity(unchecked) var isConnected = false
  /// The heartbeats and models that it has subscribed to; too few to be worth hashing.
  @exclusivity(unchecked) var topics: [Topic] = []
  @exclusivity(unchecked) var sessionOnTheWire: SessionID = 0
  @exclusivity(unchecked) var run = 0
  /// While its process is stopped, what arrives waits.
  @exclusivity(unchecked) var isPaused = false
  @exclusivity(unchecked) var pausedAt: UInt64 = 0
  /// For how long it was stopped, all in all.
  @exclusivity(unchecked) var slept: UInt64 = 0
  @exclusivity(unchecked) var inbox: [(generation: Int, frame: [UInt8])] = []
  /// How many of those are published.
  @exclusivity(unchecked) var publishedInInbox = 0
  /// Until then nothing published arrives, or nothing that it says.
  @exclusivity(unchecked) var deafUntil: UInt64 = 0
  @exclusivity(unchecked) var muteUntil: UInt64 = 0
  let clockOffset: UInt64
  /// When the last frame of each line arrives: lines keep their order.
  @exclusivity(unchecked) var lastRequestArrival: UInt64 = 0
  @exclusivity(unchecked) var lastPublishArrival: UInt64 = 0
  @exclusivity(unchecked) var lastUpArrival: UInt64 = 0
  @exclusivity(unchecked) var lastSubscriptionArrival: UInt64 = 0

  @exclusivity(unchecked) var unacknowledged = WriteBook()
  /// By model and field.
  @exclusivity(unchecked) var lastPlain: [[Plain?]]
  /// Where the last plain write of a field was acknowledged, as long as the replica has not reached it.
  @exclusivity(unchecked) var acknowledged: [(model: Int, field: Int, epoch: Epoch, version: Version)] = []
  /// Which write made a value.
  @exclusivity(unchecked) var writers: [FieldValue: WriteID] = [:]
  /// By model: what its observers were told that each field shows.
  @exclusivity(unchecked) var notified: [[FieldValue?]]
  /// By model: what it has come to show.
  @exclusivity(unchecked) var seen: [(epoch: Epoch, version: Version)]
  /// The hub once did not know it any more.
  @exclusivity(unchecked) var wasForgotten = false
  /// It was told once that nobody knows what became of a write, and may have sent that again under a later number.
  @exclusivity(unchecked) var receivedUnknown = false
  /// The lowest unacknowledged number that each of its joins told.
  @exclusivity(unchecked) var asked: [UInt32: ProposalNumber] = [:]
  /// The version of the answer that each of them got.
  @exclusivity(unchecked) var answered: [UInt32: Version] = [:]
  /// By model.
  @exclusivity(unchecked) var announced: [Bool]
  /// By model: the highest number of each writer whose commit it was shown.
  @exclusivity(unchecked) var saw: [[Tag: ProposalNumber]]
  /// What it offers of that, as it leaves and as it arrives, and, by model, in which life of the log it sent each
  /// number first.
  @exclusivity(unchecked) var offering: [SeenNumber] = []
  @exclusivity(unchecked) var offered: [SeenNumber] = []
  @exclusivity(unchecked) var firstSent: [[ProposalNumber: Epoch]]
  /// When the hub last heard of it.
  @exclusivity(unchecked) var receivedAt: UInt64 = 0
  @exclusivity(unchecked) var steps = 0
  @exclusivity(unchecked) var answers = 0
  /// What it said in an ephemeral line, if it is in one.
  @exclusivity(unchecked) var member: EphemeralMember?
  @exclusivity(unchecked) var barriers: [BarrierID: World.Barrier] = [:]

  /// The file of its outbox, if it has one, and the life in it that this session is.
  @exclusivity(unchecked) var book: OutboxBook?
  @exclusivity(unchecked) var bookRun: UInt32 = 0
  /// Lives that wait to be sent, with the names of their writes here, and the peer that sends one now.
  @exclusivity(unchecked) var previousRuns: [(run: PreviousRun, ids: [WriteID])] = []
  @exclusivity(unchecked) var carrier: Int?
  /// Of a peer that sends an earlier life: whose, and how that one calls its writes.
  @exclusivity(unchecked) var successor: Int?
  @exclusivity(unchecked) var successorIDs: [WriteID: WriteID] = [:]
  @exclusivity(unchecked) var isOver = false
  /// What it shows, when that is looked at.
  @exclusivity(unchecked) var snapshot = ModelSnapshot()

  /// Looks at the session without making a copy of it.
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
