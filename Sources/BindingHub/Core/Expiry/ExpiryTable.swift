import BindingProtocol

/// The terms of all values that expire (protocol.md §8.1): at the end of its term a field falls back to its default.
///
/// There is a term for each field with a time limit whose stored value is not its default, and nothing for any other.
/// Times are milliseconds of the monotonic clock.
struct ExpiryTable {
  /// How late a tick may be before it counts as a pause of the hub.
  static let lateMilliseconds: UInt64 = 250
  private struct Term {
    let model: Int
    let field: String
    let expiry: FieldExpiry
    /// The version of the value.
    let version: Version
    var endsAt: UInt64
    /// A pause of the hub has made it longer: once for each value and renewal, or a busy hub would never end it.
    var wasExcused = false
    /// It has ended, and the default is not stored yet.
    var isOver = false
    /// Distinguishes it from others that used its place.
    let ticket: UInt64
  }
  private var terms: [Term?] = []
  private var free: [Int] = []
  /// The place of each field's term, by the model's index.
  private var places: [Int: [String: Int]] = [:]
  /// Each present term once. A renewal leaves its entry where it is: it is put off when its time has come.
  private var queue = DeadlineQueue()
  private var lastTicket: UInt64 = 0
  /// The models with terms that are over.
  private(set) var due: Set<Int> = []
  /// Whether nothing expires: what is played from a recording expires as it did then.
  private let isOff: Bool

  init(isOff: Bool = false) { self.isOff = isOff }

  /// The number of terms.
  var count: Int { terms.count - free.count }

  /// The entries of the queue, those of terms that have gone included.
  var queued: Int { queue.count }

  /// When a term may end; those that are over wait for the store.
  var nextDeadline: UInt64 { queue.first?.time ?? .max }

  // MARK: Terms

  /// Adjusts a model's terms to what is stored: a value, limit or default that is new begins a full term.
  mutating func update(_ index: Int, _ model: ModelLog, now: UInt64) {
    guard !isOff else { return }
    let expiring = model.rules.stored.rules.expiring
    var known = places[index] ?? [:]
    for (field, place) in known where expiring[field] == nil {
      drop(place)
      known[field] = nil
    }
    for (field, expiry) in expiring {
      let slot = model.fields.id(of: field).map { model.fields[$0] }
      guard let slot, slot.hasValue, !expiry.isFallback(slot.fieldValue) else {
        if let place = known.removeValue(forKey: field) { drop(place) }
        continue
      }
      if let place = known[field] {
        if let term = terms[place], term.version == slot.version, term.expiry.isSame(as: expiry) { continue }
        drop(place)
      }
      known[field] = begin(field, of: index, expiry, slot.version, now: now)
    }
    places[index] = known.isEmpty ? nil : known
    tidyUp()
  }

  /// A value was set again: a full term begins.
  mutating func renew(_ field: String, of index: Int, now: UInt64) {
    guard let place = places[index]?[field], let term = terms[place] else { return }
    let wasOver = term.isOver
    terms[place]?.endsAt = now + term.expiry.milliseconds
    terms[place]?.wasExcused = false
    terms[place]?.isOver = false
    if wasOver { queue.insert(.init(time: now + term.expiry.milliseconds, place: place, ticket: term.ticket)) }
  }

  /// The hub could not hear renewals for a while: a full term begins for each value that was not excused before (R16).
  mutating func excuse(now: UInt64) {
    for place in terms.indices {
      guard let term = terms[place], !term.wasExcused, !term.isOver else { continue }
      terms[place]?.endsAt = now + term.expiry.milliseconds
      terms[place]?.wasExcused = true
    }
  }

  /// Whether a value of the model is to expire.
  func hasTerms(of index: Int) -> Bool { places[index] != nil }

  /// A model has gone.
  mutating func forget(_ index: Int) {
    for place in (places.removeValue(forKey: index) ?? [:]).values { drop(place) }
    due.remove(index)
    tidyUp()
  }

  private mutating func begin(
    _ field: String, of index: Int, _ expiry: FieldExpiry, _ version: Version, now: UInt64
  ) -> Int {
    lastTicket += 1
    let endsAt = now + expiry.milliseconds
    let term = Term(
      model: index, field: field, expiry: expiry, version: version, endsAt: endsAt, ticket: lastTicket)
    let place = free.popLast() ?? terms.count
    if place < terms.count { terms[place] = term } else { terms.append(term) }
    queue.insert(.init(time: endsAt, place: place, ticket: lastTicket))
    return place
  }

  private mutating func drop(_ place: Int) {
    terms[place] = nil
    free.append(place)
  }

  /// Removes entries of terms that have gone, once they are most of the queue.
  private mutating func tidyUp() {
    guard queue.count > 2 * count + 64 else { return }
    queue.keep { entry in terms[entry.place].map { $0.ticket == entry.ticket && !$0.isOver } ?? false }
  }

  // MARK: Ends

  /// Ends the terms whose time has come. If one ended long ago, the hub was paused meanwhile.
  mutating func end(now: UInt64) {
    while let first = queue.first, first.time <= now {
      queue.removeFirst()
      guard let term = terms[first.place], term.ticket == first.ticket, !term.isOver else { continue }
      if now > term.endsAt + ExpiryTable.lateMilliseconds { excuse(now: now) }
      let endsAt = terms[first.place]?.endsAt ?? 0
      guard endsAt <= now else {
        queue.insert(.init(time: endsAt, place: first.place, ticket: term.ticket))
        continue
      }
      terms[first.place]?.isOver = true
      due.insert(term.model)
    }
  }

  /// Puts the defaults of a model's fields whose terms are over into its pending batch, as one commit. A field that the
  /// batch changes or renews is left out; so is a model that cannot be decided now. Both are tried again until what is
  /// stored has another version.
  mutating func fallBack(_ hub: inout HubContext, _ time: HubTime) {
    for index in due.sorted() {
      let over = (places[index] ?? [:]).values.compactMap { terms[$0] }.filter(\.isOver)
      if over.isEmpty { due.remove(index) }
      let model = hub.models[index]
      guard model.mayFallBack, !hub.isStoreFull(for: model, time) else { continue }
      let fields = over.compactMap { term -> ModelLog.Fallback? in
        guard let id = model.fields.id(of: term.field), model.fields.decidedVersion(id) == term.version,
          !model.batch.pending.renewed.contains(id)
        else { return nil }
        return (id, term.expiry.fallback)
      }
      guard !fields.isEmpty else { continue }
      model.fallBack(fields.sorted { $0.field < $1.field }, epoch: hub.epoch, time: time.wall)
      hub.counters.fallbacks += UInt64(fields.count)
      hub.models.touch(index)
    }
  }
}

extension ModelLog {
  /// What the hub sets a field back to; nil: no value.
  typealias Fallback = (field: FieldID, value: FieldValue?)

  /// Whether it may have fields that expire, by the stored description.
  var expires: Bool { !rules.stored.rules.expiring.isEmpty }

  /// Whether the hub may decide a commit of its own now. A question to the owner does not matter: it is not asked, and
  /// the proposal is decided anew with its answer.
  fileprivate var mayFallBack: Bool {
    !batch.isAppending && removal == nil && recovery.underWay == nil
      && !(batch.pending.isOpen && batch.pending.commits.isFull)
  }

  /// Decides a commit of the hub's own.
  fileprivate func fallBack(_ fallbacks: [Fallback], epoch: Epoch, time: UInt64) {
    openBatch(epoch: self.epoch(ifStored: epoch), time: time)
    let origin = Origin(tag: .none, name: Names.expiry)
    let (version, writer) = (nextVersion, writers.index(for: origin))
    batch.pending.commits.beginCommit(origin: batch.pending.commits.origin(origin), number: 0, hops: 0)
    for (field, value) in fallbacks where batch.pending.commits.change(field, value) {
      record(
        field, version, value: value.map { batch.pending.commits.lastValue(of: $0.bytes.count) }, by: writer)
    }
    batch.pending.commits.endCommit()
  }
}

extension Sequencer {
  /// Checks a value against the description. `violation` receives the first violation.
  /// - Returns: whether it is a `set` that fits and gives a field with a time limit the bytes that it has. Then it
  ///   only renews the term, once the proposal is stored.
  func renews(
    _ id: FieldID, _ value: UnsafeRawBufferPointer, _ verb: Verb, _ version: Version, _ violation: inout String?,
    in model: ModelLog
  ) throws(Verdict) -> Bool {
    try check(value, for: id, version, &violation, in: model)
    guard verb == .set, violation == nil, !model.rules.current.rules.expiring.isEmpty,
      model.rule(of: id)?.expiry != nil, model.isDecided(id, as: value)
    else { return false }
    model.batch.pending.renewed.append(id)
    // Another hub that shares the log sees only commits.
    return !isShared
  }
}
