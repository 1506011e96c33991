import BindingProtocol

/// What an outbox file says by all its records together.
struct OutboxContent: Sendable, Equatable {
  private struct Life: Sendable, Equatable {
    var identity: Identity
    var log: LogID?
    var epoch: Epoch?
    var lastNumbers: [String: ProposalNumber] = [:]
    var writes: [WriteID: KeptWrite] = [:]
    var sizes: [WriteID: Int] = [:]

    mutating func used(_ number: ProposalNumber, in model: String) {
      lastNumbers[model] = max(number, lastNumbers[model] ?? 0)
    }
  }
  private var lives: [UInt32: Life] = [:]
  private(set) var lastLife: UInt32 = 0
  /// Bytes of the writes without an outcome: what is worth keeping.
  private(set) var liveBytes = 0

  var isEmpty: Bool { lives.isEmpty }

  /// Takes one record of so many bytes in. What belongs to a life or write that is over changes nothing.
  mutating func apply(_ record: OutboxRecord, bytes: Int) {
    let number = record.life
    switch record.content {
    case .began(let identity):
      lives[number] = Life(identity: identity)
      lastLife = max(lastLife, number)
    case .left:
      for size in lives.removeValue(forKey: number)?.sizes.values ?? [:].values { liveBytes -= size }
    case .counted(let model, let last):
      lives[number]?.used(last, in: model)
    case .note(.welcomed(let log, let epoch)):
      lives[number]?.log = log
      lives[number]?.epoch = epoch
    case .note(.written(let write)):
      guard lives[number] != nil else { return }
      // A write that was merged with another's is written again.
      let isSecondTry = lives[number]?.writes[write.id]?.isSecondTry ?? false
      lives[number]?.writes[write.id] = write
      lives[number]?.writes[write.id]?.isSecondTry = isSecondTry
      liveBytes += bytes - (lives[number]?.sizes.updateValue(bytes, forKey: write.id) ?? 0)
    case .note(.numbered(let id, let proposal, let conditions)):
      guard let model = lives[number]?.writes[id]?.model else { return }
      lives[number]?.writes[id]?.number = proposal == 0 ? nil : proposal
      if proposal == 0 { lives[number]?.writes[id]?.isSecondTry = true }
      lives[number]?.writes[id]?.proposal.conditions = conditions
      lives[number]?.used(proposal, in: model)
    case .note(.withdrawn(let id)): lives[number]?.writes[id]?.isWithdrawn = true
    case .note(.decided(let id, _)):
      lives[number]?.writes[id] = nil
      liveBytes -= lives[number]?.sizes.removeValue(forKey: id) ?? 0
    }
  }

  /// The lives that left writes without an outcome, oldest first.
  var unfinished: [EarlierLife] {
    lives.sorted { $0.key < $1.key }.filter { !$0.value.writes.isEmpty }.map { number, life in
      EarlierLife(
        number: number, identity: life.identity, log: life.log, epoch: life.epoch, lastNumbers: life.lastNumbers,
        writes: life.writes.values.sorted { $0.id < $1.id })
    }
  }

  /// Before tags were made of secrets they were drawn, and no hub lets anybody speak for such a one. What such a life
  /// has not sent becomes a life under the tag of its secret; what it has sent stays, for its end to be told.
  /// - Returns: whether there was anything to move. Then the file has to be written anew, in one step: what stood in it
  ///   as sent and as not sent may not be mixed up.
  mutating func adoptUnproven() -> Bool {
    let unproven = lives.filter { _, life in
      !life.identity.isProven && life.writes.values.contains { $0.number == nil }
    }
    for (number, life) in unproven.sorted(by: { $0.key < $1.key }) {
      var adopted = Life(identity: Identity(secret: life.identity.secret, name: life.identity.name))
      (adopted.log, adopted.epoch) = (life.log, life.epoch)
      for (id, write) in life.writes where write.number == nil {
        adopted.writes[id] = lives[number]?.writes.removeValue(forKey: id)
        adopted.sizes[id] = lives[number]?.sizes.removeValue(forKey: id)
      }
      lastLife += 1
      lives[lastLife] = adopted
    }
    return !unproven.isEmpty
  }

  /// Forgets the lives in which nothing is left unacknowledged.
  mutating func forgetFinished() { lives = lives.filter { !$0.value.writes.isEmpty } }

  /// The shortest file that says the same.
  var compacted: [UInt8] {
    var writer = WireWriter()
    writer.raw(OutboxLog.header)
    for (number, life) in lives.sorted(by: { $0.key < $1.key }) {
      func add(_ content: OutboxRecord.Content) {
        OutboxLog.append(OutboxRecord(life: number, content: content), to: &writer)
      }
      add(.began(life.identity))
      if let log = life.log, let epoch = life.epoch { add(.note(.welcomed(log: log, epoch: epoch))) }
      for (model, last) in life.lastNumbers.sorted(by: { $0.key < $1.key }) where last > 0 {
        add(.counted(model: model, last: last))
      }
      for write in life.writes.values.sorted(by: { $0.id < $1.id }) {
        add(.note(.written(write)))
        if write.isSecondTry { add(.note(.numbered(write.id, 0, conditions: write.proposal.conditions))) }
        if let number = write.number {
          add(.note(.numbered(write.id, number, conditions: write.proposal.conditions)))
        }
        if write.isWithdrawn { add(.note(.withdrawn(write.id))) }
      }
    }
    return writer.withUnsafeBytes { Array($0) }
  }
}
