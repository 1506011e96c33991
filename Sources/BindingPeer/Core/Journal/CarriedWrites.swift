import BindingProtocol

/// A write of an earlier run, which another session sends.
struct CarriedWrite: Sendable {
  /// Its id in this session.
  let id: WriteID
  let tag: Tag
  let kept: KeptWrite
  var number: ProposalNumber?
  let isOld: Bool

  /// The write as it overlays its model, below all writes of this run.
  func pending(at now: UInt64) -> Pending {
    var pending = Pending(kept, id: id, number: nil, isOld: isOld, now: now)
    pending.carried = .init(tag: tag, number: number)
    return pending
  }
}

/// The writes of earlier runs that have no outcome, by model.
struct CarriedWrites: Sendable {
  private var byModel: [String: [CarriedWrite]] = [:]

  subscript(model: String) -> [CarriedWrite] { byModel[model] ?? [] }

  mutating func append(_ write: CarriedWrite) { byModel[write.kept.model, default: []].append(write) }

  /// The other session has sent the write under this number.
  /// - Returns: whether the write is known.
  mutating func sent(_ write: WriteID, of model: String, as number: ProposalNumber) -> Bool {
    guard let index = byModel[model]?.firstIndex(where: { $0.id == write }) else { return false }
    byModel[model]?[index].number = number
    return true
  }

  mutating func remove(_ write: WriteID, of model: String) {
    byModel[model]?.removeAll { $0.id == write }
    if byModel[model]?.isEmpty == true { byModel[model] = nil }
  }
}

extension KeptWrite {
  /// Whether the write waited so long that it yields to what others wrote. True if its time is unknown or in the
  /// future.
  /// - Parameter wall: the wall time now, milliseconds since 1970.
  func isOld(at wall: UInt64, _ options: SessionOptions) -> Bool {
    time == 0 || time > wall || wall - time >= options.offlineMilliseconds
  }
}

extension Pending {
  /// A write that an earlier run left.
  init(_ write: KeptWrite, id: WriteID, number: ProposalNumber?, isOld: Bool, now: UInt64) {
    let overlay = write.proposal.operations.flatMap { operation in
      operation.verb == .clear ? write.seen.map { FieldOperation(.delete, $0.field) } : [operation]
    }
    let bytes = write.proposal.operations.reduce(64 + 24 * write.proposal.conditions.count) {
      $0 + 16 + $1.field.utf8.count + ($1.value?.bytes.count ?? 0)
    }
    let seen = write.seen.map { ($0.field, Seen(value: .digest($0.digest), epoch: $0.epoch, version: $0.version)) }
    self.init(
      id: id, proposal: write.proposal, overlay: overlay, bytes: bytes, writtenAt: now,
      seen: ByField(seen), isOld: isOld, number: number,
      sending: .init(wasSent: number != nil, isVoid: write.isWithdrawn, isSecondTry: write.isSecondTry))
  }
}
