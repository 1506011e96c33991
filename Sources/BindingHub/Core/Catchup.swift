import BindingWire

/// What brings one peer from what it has to what is stored: nothing, the changes since, or all.
struct Catchup {
  let follows: Joined.Follows
  private let template: CatchupChunk
  private let names: [String]
  private let model: ModelLog
  private let fields: [FieldID]

  init(of model: ModelLog, for join: Join, epoch: Epoch, mark: ProposalNumber, session: SessionID) {
    self.model = model
    let isSameLife = join.epoch == epoch && join.version <= model.version
    let knowsNothing = join.epoch == 0 && join.version == 0
    let known = min(Int(join.namesKnown), model.fields.count)
    names = model.fields.slots[known...].map(\.name)
    let all = { (0..<FieldID(model.fields.count)).filter { model.fields[$0].hasValue } }
    if isSameLife && join.version == model.version && names.isEmpty
      || knowsNothing && model.version == 0 && names.isEmpty
    {
      follows = .nothing
      fields = []
    } else if isSameLife, case let changed = model.fieldsChanged(after: join.version),
      join.version > 0, changed.count <= model.fields.valueCount
    {
      follows = .delta
      fields = changed
    } else {
      follows = .snapshot
      fields = all()
    }
    template = CatchupChunk(
      session: session, request: join.request, epoch: epoch, previous: follows == .delta ? join.version : 0,
      version: model.version, form: follows == .delta ? .delta : .snapshot, chunk: 0, isLast: false, mark: mark,
      origins: [],
      names: NamesRun(first: FieldID(known), names: []), entries: [])
  }

  /// The messages, each within the limit but for a single value that is longer. Names stand before the entries that
  /// need them.
  func chunks(limitBytes: Int) -> [CatchupChunk] {
    guard follows != .nothing else { return [] }
    var chunks: [CatchupChunk] = []
    var chunk = template
    // Headers and counts; the longest name of an origin and the numbers of an entry are the 128 below.
    let empty = 73
    var bytes = empty
    var nextName = template.names.first
    func flush() {
      chunks.append(chunk)
      chunk = template
      chunk.chunk = UInt32(chunks.count)
      chunk.names = NamesRun(first: nextName, names: [])
      bytes = empty
    }
    for name in names {
      if bytes > empty, bytes + name.utf8.count + 1 > limitBytes { flush() }
      chunk.names.names.append(name)
      nextName += 1
      bytes += name.utf8.count + 1
    }
    var positions: [Tag: UInt16] = [:]
    for id in fields {
      let slot = model.fields[id]
      if bytes > empty, bytes + slot.value.count + 128 > limitBytes || chunk.origins.count >= Int(UInt16.max) - 1 {
        flush()
        positions.removeAll()
      }
      let position =
        positions[slot.origin.tag]
        ?? {
          chunk.origins.append(slot.origin)
          positions[slot.origin.tag] = UInt16(chunk.origins.count - 1)
          bytes += 9 + slot.origin.name.utf8.count
          return UInt16(chunk.origins.count - 1)
        }()
      chunk.entries.append(
        CatchupEntry(
          field: id, version: slot.version, origin: position, number: slot.number, time: slot.time,
          value: slot.fieldValue))
      bytes += 32 + slot.value.count
    }
    chunk.isLast = true
    chunks.append(chunk)
    return chunks
  }
}
