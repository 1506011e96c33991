import BindingPeer
import BindingWire

/// A peer in the world: its session, the two ends of its connections, and what its application remembers to hold it to
/// its promises.
final class SimulatedPeer {
  struct Write {
    let model: String
    let fields: [String: FieldValue]
    let isPlain: Bool
    let adds: Int64
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
  var lastPlain: [String: (id: WriteID, value: FieldValue)] = [:]
  var seen: [String: (epoch: Epoch, version: Version)] = [:]
  var steps = 0

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

/// What happened in a history: shows that the faults and repairs that are meant to be tested do occur.
public struct Counts: Sendable {
  public var deliveries = 0
  public var connections = 0
  public var writes = 0
  public var committed = 0
  public var conflicts = 0
  public var superseded = 0
  public var kept = 0
  public var unknown = 0
  public var misfits = 0
  public var lost = 0
  public var gaps = 0
  public var deltas = 0
  public var snapshots = 0
  public var missedBeats = 0
  public var divergences = 0
  public var newEpochs = 0
  public var offers = 0
  public var hubCrashes = 0
  public var peerCrashes = 0
  public var restored = 0
  public var pauses = 0
  public var lostBatches = 0
  public var holds = 0
  public var repeats: UInt64 = 0
  public var routedJoins: UInt64 = 0
  public var rescuedFields: UInt64 = 0
  public var jumps: UInt64 = 0
  public var raisedMarks: UInt64 = 0
  public var expiredLeases: UInt64 = 0
  public var movedBatches: UInt64 = 0
  public var unknownBatches: UInt64 = 0

  public init() {}

  public mutating func add(_ other: Counts) {
    deliveries += other.deliveries
    connections += other.connections
    writes += other.writes
    committed += other.committed
    conflicts += other.conflicts
    superseded += other.superseded
    kept += other.kept
    unknown += other.unknown
    misfits += other.misfits
    lost += other.lost
    gaps += other.gaps
    deltas += other.deltas
    snapshots += other.snapshots
    missedBeats += other.missedBeats
    divergences += other.divergences
    newEpochs += other.newEpochs
    offers += other.offers
    hubCrashes += other.hubCrashes
    peerCrashes += other.peerCrashes
    restored += other.restored
    pauses += other.pauses
    lostBatches += other.lostBatches
    holds += other.holds
    repeats += other.repeats
    routedJoins += other.routedJoins
    rescuedFields += other.rescuedFields
    jumps += other.jumps
    raisedMarks += other.raisedMarks
    expiredLeases += other.expiredLeases
    movedBatches += other.movedBatches
    unknownBatches += other.unknownBatches
  }

  /// Every count with its name, for a line of print and for the test that none is zero.
  public var all: [(name: String, count: UInt64)] {
    Mirror(reflecting: self).children.compactMap { child in
      guard let name = child.label else { return nil }
      if let count = child.value as? Int { return (name, UInt64(count)) }
      return (child.value as? UInt64).map { (name, $0) }
    }
  }
}
