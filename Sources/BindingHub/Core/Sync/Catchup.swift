import BindingProtocol

/// A catch-up brings one peer from what it has to what is stored: nothing, the changes since, or everything.
///
/// It is sent in chunks, so that a big one delays no other peer for long. A field that changes after it was sent is
/// sent again; the last chunk leaves when nothing is missing, and all chunks together are the state of that moment.
struct Catchup {
  let follows: Joined.Follows
  let session: SessionID
  let model: ModelLog
  private let request: UInt32
  private let previous: Version
  /// Fields still to send: of a snapshot those from `next` on, then those of the list.
  private var next: FieldID
  private var listed: ArraySlice<FieldID> = []
  /// Fields that changed after they were sent.
  private var again: Set<FieldID> = []
  /// Changes up to here are in `again`, or still to be sent.
  private var seen: Version
  private var nextName: FieldID
  private var chunk: UInt32 = 0
  /// Whether every field has been sent once.
  private var hasSentAll = false

  /// Begins a catch-up. The model's pending batch must be empty.
  init(of model: ModelLog, for join: Join, epoch: Epoch, session: SessionID) {
    self.model = model
    self.session = session
    request = join.request
    seen = model.version
    nextName = min(join.namesKnown, FieldID(model.fields.count))
    next = FieldID.max
    let isSameEpoch = join.epoch == epoch && join.version <= model.version
    let knowsNothing = join.epoch == 0 && join.version == 0
    let knowsNames = Int(nextName) == model.fields.count
    if isSameEpoch && join.version == model.version && knowsNames || knowsNothing && model.version == 0 && knowsNames {
      follows = .nothing
    } else if isSameEpoch, join.version > 0, join.version >= model.position.deltasFrom,
      case let changed = model.fieldsChanged(after: join.version),
      changed.count <= model.fields.valueCount
    {
      follows = .delta
      listed = changed[...]
    } else {
      follows = .snapshot
      next = 0
    }
    previous = follows == .delta ? join.version : 0
  }

  /// The next message, within the limit unless a single value is longer. Returns nil when everything was sent and
  /// the last message may not leave yet. Names precede the entries that need them.
  /// - Parameter mayEnd: every decision is stored, so this message may be the last.
  mutating func nextChunk(epoch: Epoch, lastDecided: ProposalNumber, limitBytes: Int, mayEnd: Bool) -> CatchupChunk? {
    recordChanges()
    var piece = Piece(
      of: CatchupChunk(
        session: session, request: request, epoch: epoch, previous: previous, version: model.version,
        form: follows == .delta ? .delta : .snapshot, chunk: chunk, isLast: false, lastDecided: lastDecided,
        origins: [],
        names: NamesRun(first: nextName, names: []), entries: []),
      limitBytes: limitBytes)
    let count = FieldID(model.storedNames)
    while next < count {
      let slot = model.fields[next]
      guard appendNames(through: next, &piece), !slot.hasValue || piece.append(slot, next) else { break }
      next += 1
    }
    if next >= count {
      // New names may still arrive; their fields count as changed.
      next = .max
      while let field = nextListed() {
        guard appendNames(through: field, &piece), piece.append(model.fields[field], field) else { break }
        listed.removeFirst()
      }
    }
    let isAll = next == .max && listed.isEmpty && (count == 0 || appendNames(through: count - 1, &piece))
    if isAll { hasSentAll = true }
    piece.chunk.isLast = isAll && mayEnd
    guard piece.chunk.isLast || !piece.isEmpty else { return nil }
    chunk += 1
    return piece.chunk
  }

  /// The number of fields to send again; nil: not all were sent once.
  mutating func countLeft() -> Int? {
    recordChanges()
    return hasSentAll ? listed.count + again.count : nil
  }

  /// Records commits that changed these fields of the model, which was at `version` before.
  mutating func record(_ changed: some Sequence<FieldID>, after version: Version) {
    // Otherwise more is missing; the next message finds it.
    guard seen == version else { return }
    for field in changed where field < next { again.insert(field) }
    seen = model.version
  }

  private mutating func recordChanges() {
    guard model.version > seen else { return }
    record(model.fieldsChanged(after: seen), after: seen)
  }

  private mutating func nextListed() -> FieldID? {
    if listed.isEmpty, !again.isEmpty {
      listed = again.sorted()[...]
      again.removeAll()
    }
    return listed.first
  }

  /// False if the names do not all fit.
  private mutating func appendNames(through field: FieldID, _ piece: inout Piece) -> Bool {
    while nextName <= field {
      guard piece.append(model.fields[nextName].name) else { return false }
      nextName += 1
    }
    return true
  }
}

/// A message of a catch-up while it is being filled.
private struct Piece {
  var chunk: CatchupChunk
  private let limitBytes: Int
  private var bytes = Piece.empty
  private var positions: [Tag: UInt16] = [:]
  /// Bytes of headers and counts. An origin's longest names and an entry's numbers are within the 256 below.
  private static let empty = 73

  init(of chunk: CatchupChunk, limitBytes: Int) {
    self.chunk = chunk
    self.limitBytes = limitBytes
  }

  var isEmpty: Bool { bytes == Piece.empty }

  mutating func append(_ name: String) -> Bool {
    guard isEmpty || bytes + name.utf8.count + 1 <= limitBytes else { return false }
    chunk.names.names.append(name)
    bytes += name.utf8.count + 1
    return true
  }

  mutating func append(_ slot: FieldSlot, _ field: FieldID) -> Bool {
    guard isEmpty || bytes + slot.value.count + 256 <= limitBytes, chunk.origins.count < Int(UInt16.max) - 1 else {
      return false
    }
    chunk.entries.append(
      CatchupEntry(
        field: field, version: slot.version, origin: position(of: slot.origin), number: slot.number, time: slot.time,
        value: slot.fieldValue))
    bytes += 32 + slot.value.count
    return true
  }

  private mutating func position(of origin: Origin) -> UInt16 {
    // The fields of one tag may be of several users.
    if let known = positions[origin.tag], chunk.origins[Int(known)].user == origin.user { return known }
    let position = UInt16(chunk.origins.count)
    positions[origin.tag] = position
    chunk.origins.append(origin)
    bytes += 9 + origin.name.utf8.count + (origin.user.map { $0.utf8.count + 2 } ?? 0)
    return position
  }
}
