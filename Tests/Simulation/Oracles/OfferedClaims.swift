import BindingProtocol

/// The replicas that peers have offered since the hub lost commits: their offerers, and the numbers that they had
/// seen.
struct OfferedClaims {
  /// A text is sent a second time where the hub may have forgotten that it applied it: its words match those of the
  /// first time only while they stand at the same index.
  let mayRepeatWords: Bool
  struct Key: Hashable {
    let model: Int
    let offerer: Tag
    let writer: Tag
  }
  struct FieldKey: Hashable {
    let model: Int
    let field: Int
  }
  private var numbers: [Key: ProposalNumber] = [:]
  private var replicas: [Key: SumAdditions.Replica] = [:]
  private var recovered: Swift.Set<FieldKey> = []
  /// All values that fields ever had.
  private var stood: [FieldKey: Swift.Set<FieldValue>] = [:]
  var attackers: Swift.Set<Tag> = []
  /// Fields that once held a forged value: any peer that saw it there may bring it back.
  var forgeries: Swift.Set<FieldKey> = []

  init(mayRepeatWords: Bool) { self.mayRepeatWords = mayRepeatWords }

  mutating func begin() {
    numbers.removeAll()
    replicas.removeAll()
  }

  mutating func record(_ seen: [SeenNumber], of replica: SumAdditions.Replica, in model: Int) {
    let offerer = replica.offerer
    replicas[Key(model: model, offerer: offerer, writer: .none)] = replica
    for one in seen {
      numbers[Key(model: model, offerer: offerer, writer: one.tag), default: 0] = max(
        one.number, numbers[Key(model: model, offerer: offerer, writer: one.tag)] ?? 0)
    }
  }

  /// Forgets which values were recovered, before the log is read again.
  mutating func forgetFields() { recovered.removeAll() }

  func hasStood(_ value: FieldValue, in field: Int, of model: Int) -> Bool {
    stood[FieldKey(model: model, field: field)]?.contains(value) ?? false
  }

  mutating func record(_ value: FieldValue?, isRecovered: Bool, _ field: Int, of model: Int) {
    if let value { stood[FieldKey(model: model, field: field), default: []].insert(value) }
    if isRecovered {
      recovered.insert(FieldKey(model: model, field: field))
    } else {
      recovered.remove(FieldKey(model: model, field: field))
    }
  }

  /// Whether a field's value, or its absence, was recovered.
  func isRecovered(_ field: Int, of model: Int) -> Bool { recovered.contains(FieldKey(model: model, field: field)) }

  func hasSeen(_ name: LogOracle.Name, offerer: Tag) -> Bool {
    numbers[Key(model: name.model, offerer: offerer, writer: name.tag)].map { name.number <= $0 } ?? false
  }

  /// The replica that a peer has offered last; one without commits, if it has offered none.
  func replica(of offerer: Tag, in model: Int) -> SumAdditions.Replica {
    replicas[Key(model: model, offerer: offerer, writer: .none)]
      ?? SumAdditions.Replica(epoch: 0, version: 0, offerer: offerer)
  }
}
