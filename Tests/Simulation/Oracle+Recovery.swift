import BindingProtocol

/// What replicas brought back after a loss, and what was committed besides.
extension Oracle {
  /// The value that liars write and offer.
  static let forged = FieldValue(bytes: Array("\"forged\"".utf8))

  /// Whether this unique value of a field was recovered from a lost epoch.
  func isRecovered(_ value: FieldValue, in field: Int, of model: Int) -> Bool {
    point(of: value, in: field, of: model).flatMap { entry($0) }?.isRecovered ?? false
  }

  /// A recovered value is committed under the name of the peer that offered it; a forged value under no other name
  /// than its liar's.
  mutating func enterRecovered(
    _ value: FieldValue?, in field: Int, _ name: Name, _ point: Point
  ) throws(Violation) {
    if value == Oracle.forged {
      let isKnown = claims.forgeries.contains(.init(model: point.model, field: field))
      guard isKnown || claims.liars.contains(name.tag) else {
        throw Violation(.noPhantom, "what a liar offered stands in \(title(point)) as written by \(name.tag.short)")
      }
      claims.forgeries.insert(.init(model: point.model, field: field))
      return
    }
    if let value, !claims.hasStood(value, in: field, of: point.model), !claims.liars.contains(name.tag) {
      throw Violation(
        .noPhantom,
        "\(name.tag.short) brought \(describe(value)) back to \(SimulatedField.names[field]), which never stood there")
    }
    if field == SimulatedField.sum {
      sums[point.model].bring(
        Oracle.number(value) ?? 0, from: claims.epoch(of: name.tag, in: point.model), into: point.epoch, by: name.tag)
    }
    // The latest recovery counts: it may be the value over which an earlier replica was recovered.
    if let earlier = record(value, in: field, name, point), earlier.number > 0,
      !claims.isRecovered(field, of: point.model)
    {
      throw Violation(
        .exactlyOnce,
        "\(describe(value)) was written to \(SimulatedField.names[field]) as \(earlier.number) and then brought back")
    }
  }

  /// A proposal takes effect for the first time; or an epoch that is lost had applied it, and no replica that was
  /// recovered had seen that.
  mutating func enterOnce(
    _ value: FieldValue?, in field: Int, _ name: Name, _ point: Point
  ) throws(Violation) {
    if value == Oracle.forged {
      guard claims.liars.contains(name.tag) else {
        throw Violation(.noPhantom, "what a liar wrote stands in \(title(point)) as written by \(name.tag.short)")
      }
      claims.forgeries.insert(.init(model: point.model, field: field))
      return
    }
    if field == SimulatedField.sum, let offerer = sums[point.model].add(name, in: point.epoch) {
      guard let offerer, !claims.hasSeen(name, offerer: offerer) else {
        throw Violation(
          .exactlyOnce, "proposal \(name.number) of \(name.tag.short) was added to \(title(point)) twice")
      }
    }
    guard let earlier = record(value, in: field, name, point), earlier != name else { return }
    guard earlier.number == 0, !claims.hasSeen(name, offerer: earlier.tag) else {
      throw Violation(
        .exactlyOnce,
        "\(describe(value)) was written to \(SimulatedField.names[field]) as \(earlier.number) and "
          + "\(name.number)")
    }
  }
}

/// The replicas that peers have offered since the hub lost commits: their offerers, and the numbers that they had
/// seen.
struct OfferedClaims {
  /// A text is sent a second time where the hub may have forgotten that it applied it: its words match those of the
  /// first time only while they stand at the same index.
  var mayRepeatWords = false
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
  private var epochs: [Key: Epoch] = [:]
  private var recovered: Swift.Set<FieldKey> = []
  /// All values that fields ever had.
  private var stood: [FieldKey: Swift.Set<FieldValue>] = [:]
  var liars: Swift.Set<Tag> = []
  /// Fields that once held a forged value: any peer that saw it there may bring it back.
  var forgeries: Swift.Set<FieldKey> = []

  mutating func begin() {
    numbers.removeAll()
    epochs.removeAll()
  }

  mutating func record(_ seen: [SeenNumber], from offerer: Tag, at epoch: Epoch, in model: Int) {
    epochs[Key(model: model, offerer: offerer, writer: .none)] = epoch
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

  func hasSeen(_ name: Oracle.Name, offerer: Tag) -> Bool {
    numbers[Key(model: name.model, offerer: offerer, writer: name.tag)].map { name.number <= $0 } ?? false
  }

  /// The epoch of an offered replica.
  func epoch(of offerer: Tag, in model: Int) -> Epoch {
    epochs[Key(model: model, offerer: offerer, writer: .none)] ?? 0
  }
}

/// The additions that a counter contains, by epoch of the log: only 1 is ever added and nothing else is written, so
/// the counter equals their count.
struct SumAdditions {
  private var additions: [Epoch: [Oracle.Name]] = [:]
  /// What an epoch contained before its log lost its end and went on: replicas of that epoch may have it all.
  private var lost: [Epoch: [Oracle.Name]] = [:]
  private var present: Epoch = 0
  /// The peer that recovered the counter in the present epoch.
  private var offerer: Tag?

  /// An epoch begins, or goes on, with what the log has left.
  mutating func begin(_ epoch: Epoch, at sum: Int64) {
    let left = Array((additions[present] ?? []).prefix(Int(clamping: sum)))
    if let former = additions[epoch], former.count > left.count { lost[epoch] = former }
    additions[epoch] = left
    (present, offerer) = (epoch, nil)
  }

  mutating func bring(_ sum: Int64, from old: Epoch, into epoch: Epoch, by offerer: Tag) {
    let held = additions[old] ?? []
    let known = held.count < sum ? lost[old] ?? held : held
    additions[epoch] = Array(known.prefix(Int(clamping: sum)))
    self.offerer = offerer
  }

  /// - Returns: nil if it was not contained; else the peer that recovered the counter, if any.
  mutating func add(_ name: Oracle.Name, in epoch: Epoch) -> Tag?? {
    defer { additions[epoch, default: []].append(name) }
    return additions[epoch, default: []].contains(name) ? .some(offerer) : nil
  }
}
