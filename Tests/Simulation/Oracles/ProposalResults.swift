import BindingPeer
import BindingProtocol

/// The result of every proposal: by model, writer and number.
struct ProposalResults {
  struct ProposalResult {
    /// The outcome, if it is no commit, and the run of the hub that decided it.
    var decision: WireOutcome.Kind?
    var run = 0
    /// Whether the hub has sent its outcome.
    var isSent = false
    /// The write that the proposal turned out to be.
    var claimedBy: WriteID?
    /// The fields that it changed, by the epoch of the log in which it did.
    private var changed: (epoch: Epoch, fields: UInt16) = (0, 0)
    private var changedEarlier: [(epoch: Epoch, fields: UInt16)] = []

    /// Records that it changed a field; false if it had already changed that field in this epoch.
    mutating func change(_ field: Int, in epoch: Epoch) -> Bool {
      if changed.epoch != epoch {
        changedEarlier.append(changed)
        changed = (epoch, changedEarlier.first { $0.epoch == epoch }?.fields ?? 0)
      }
      guard changed.fields & 1 << field == 0 else { return false }
      changed.fields |= 1 << field
      return true
    }
  }
  private struct Writer {
    var lastDecided: ProposalNumber = 0
    /// Whether the log has a number of it, and no removal of the model after that.
    var isKept = false
    /// By number, from 1.
    var results: [ProposalResult] = []
  }
  private let models: Int
  private var indices: [Tag: Int] = [:]
  /// The last writer looked up: look-ups of one writer come in runs.
  private var last: (tag: Tag, index: Int)?
  private var writers: [Writer] = []

  init(models: Int) { self.models = models }

  func lastDecided(of tag: Tag, in model: Int) -> ProposalNumber {
    indices[tag].map { writers[$0 + model].lastDecided } ?? 0
  }

  mutating func raise(_ tag: Tag, to number: ProposalNumber, in model: Int) {
    let index = findOrInsert(tag) + model
    writers[index].lastDecided = max(writers[index].lastDecided, number)
    writers[index].isKept = true
  }

  /// Whether a hub with this log knows that the writer has written to the model.
  func isKept(_ tag: Tag, in model: Int) -> Bool { indices[tag].map { writers[$0 + model].isKept } ?? false }

  /// A model is removed, with the last decided numbers of its writers. No hub decides those again all the same.
  mutating func remove(_ model: Int) {
    for index in indices.values { writers[index + model].isKept = false }
  }

  subscript(name: LogOracle.Name) -> ProposalResult {
    mutating get {
      let index = findOrInsert(name.tag) + name.model
      make(name.number, at: index)
      return writers[index].results[Int(name.number)]
    }
    _modify {
      let index = findOrInsert(name.tag) + name.model
      make(name.number, at: index)
      yield &writers[index].results[Int(name.number)]
    }
  }

  /// Forgets the last decided numbers and decisions of a log; what is known of the proposals themselves stays.
  mutating func forgetDecisions() {
    for writer in writers.indices {
      (writers[writer].lastDecided, writers[writer].isKept) = (0, false)
      for number in writers[writer].results.indices { writers[writer].results[number].decision = nil }
    }
  }

  private mutating func findOrInsert(_ tag: Tag) -> Int {
    if let last, last.tag == tag { return last.index }
    if let index = indices[tag] {
      last = (tag, index)
      return index
    }
    indices[tag] = writers.count
    writers.append(contentsOf: repeatElement(Writer(), count: models))
    return writers.count - models
  }

  private mutating func make(_ number: ProposalNumber, at index: Int) {
    while writers[index].results.count <= Int(number) { writers[index].results.append(ProposalResult()) }
  }
}
