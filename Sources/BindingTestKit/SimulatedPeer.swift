import BindingPeer
import BindingWire

/// A peer in the world: its session, the two ends of its connections, and what its application remembers to hold it to
/// its promises.
final class SimulatedPeer {
  struct Write {
    let model: String
    let fields: [String: FieldValue]
    let isPlain: Bool
    var condition: Condition?
    /// An addition to text, or one answer too many.
    var mayBeRefused = false
    var isWithdrawn = false
  }
  /// A field of a model.
  struct Spot: Hashable {
    let model: String
    let field: String
  }
  var session: Session
  var output = PeerOutput()
  /// Counts its connections; frames of an earlier one are lost.
  var generation: Int
  /// The number under which the hub knows the present one.
  var hubSide = -1
  var isConnected = false
  var topics: Swift.Set<[UInt8]> = []
  var sessionOnTheWire: SessionID = 0
  var life = 0
  /// While its process is stopped, what arrives waits.
  var isPaused = false
  var inbox: [(generation: Int, frame: [UInt8])] = []
  let clockOffset: UInt64
  /// When the last frame of each line arrives: lines keep their order.
  var requestLine: UInt64 = 0
  var publishLine: UInt64 = 0
  var upLine: UInt64 = 0
  var subscriptionLine: UInt64 = 0

  var undecided: [WriteID: Write] = [:]
  var lastPlain: [Spot: (id: WriteID, value: FieldValue)] = [:]
  /// Where the last plain write of a field was acknowledged.
  var acknowledged: [Spot: (epoch: Epoch, version: Version)] = [:]
  /// Which write made a value.
  var writers: [FieldValue: WriteID] = [:]
  var seen: [String: (epoch: Epoch, version: Version)] = [:]
  /// The hub once did not know it any more.
  var wasForgotten = false
  /// The lowest undecided number that each of its joins told.
  var asked: [UInt32: ProposalNumber] = [:]
  var announced: Swift.Set<String> = []
  /// When the hub last heard of it.
  var heardAt: UInt64 = 0
  var steps = 0
  var answers = 0

  /// The file of its outbox, if it has one, and the life in it that this session is.
  var book: OutboxBook?
  var bookLife: UInt32 = 0
  /// Lives that wait to be sent, with the names of their writes here, and the peer that sends one now.
  var earlier: [(life: EarlierLife, ids: [WriteID])] = []
  var carrier: Int?
  /// Of a peer that sends an earlier life: whose, and how that one calls its writes.
  var heir: Int?
  var heirIDs: [WriteID: WriteID] = [:]
  var isOver = false

  init(session: Session, output: PeerOutput, generation: Int, life: Int, clockOffset: UInt64) {
    self.session = session
    self.output = output
    self.generation = generation
    self.life = life
    self.clockOffset = clockOffset
  }
}
