import BindingProtocol

/// The appends of a shared store that have no answer yet, and the records that wait for their answers.
///
/// Two ways tell what became of an append, the engine's answer and the tail. They are different streams, so either may
/// be first. What comes first decides: a record of the tail at an append's place is its answer, and the engine's own
/// answer is then dropped. A record after that place waits, so that a model's records come in their order.
package struct OpenAppends {
  private struct Open {
    var number: UInt64
    var batch: SharedBatch
    var waiting: [SharedRecord] = []
  }

  /// What has to be delivered, in this order.
  package struct Output {
    /// Answers with the numbers of their appends.
    package var answers: [(number: UInt64, answer: SharedAnswer)] = []
    /// Records of the tail.
    package var records: [SharedRecord] = []

    package init() {}

    /// Whether there is nothing to deliver.
    package var isEmpty: Bool { answers.isEmpty && records.isEmpty }

    /// The answers as events, one for each append.
    package var events: [SharedEvent] {
      var events: [SharedEvent] = []
      var rest = answers[...]
      while let first = rest.first {
        let end = rest.firstIndex { $0.number != first.number } ?? rest.endIndex
        events.append(.appended(first.number, rest[..<end].map(\.answer)))
        rest = rest[end...]
      }
      return events
    }
  }

  private var open: [String: Open] = [:]

  package init() {}

  /// Whether no append waits for its answer.
  package var isEmpty: Bool { open.isEmpty }

  /// Whether this append of the model waits for its answer.
  package func isOpen(_ number: UInt64, _ model: String) -> Bool { open[model]?.number == number }

  /// The heads of the models of which records wait, as these leave them, in the order of their revisions.
  package var waiting: [SharedHead] {
    open.values.compactMap { append in append.waiting.last.map(SharedHead.init(after:)) }
      .sorted { ($0.revision, $0.model) < ($1.revision, $1.model) }
  }

  /// Begins to wait for the answers to these batches.
  package mutating func add(_ number: UInt64, _ batches: [SharedBatch]) {
    for batch in batches { open[batch.batch.model] = Open(number: number, batch: batch) }
  }

  /// Takes the engine's answer to one batch; does nothing if it has been answered.
  package mutating func take(_ result: SharedAppended, to number: UInt64, of model: String, into output: inout Output) {
    guard let append = open[model], append.number == number else { return }
    end(append, result, into: &output)
  }

  /// Takes what stands in the log after the head on which a batch was decided: its first record tells what became of
  /// the batch. Without any record they are folded already.
  package mutating func take(
    _ records: [SharedRecord], head: SharedHead, to number: UInt64, of model: String, into output: inout Output
  ) {
    guard let append = open[model], append.number == number else { return }
    end(append, OpenAppends.result(of: append.batch.batch, records, head), into: &output)
  }

  /// Takes records of the tail, in their order.
  package mutating func take(followed records: [SharedRecord], into output: inout Output) {
    for record in records {
      guard let append = open[record.batch.model], record.batch.record >= append.batch.batch.record else {
        output.records.append(record)
        continue
      }
      if record.batch.record > append.batch.batch.record {
        open[record.batch.model]?.waiting.append(record)
      } else {
        let isOwn = record.batch == append.batch.batch
        end(append, isOwn ? .stored(record.revision) : .moved([record]), into: &output)
      }
    }
  }

  private mutating func end(_ append: Open, _ result: SharedAppended, into output: inout Output) {
    let batch = append.batch.batch
    open[batch.model] = nil
    let answer = SharedAnswer(batch.model, batch.record, result, later: append.waiting)
    output.answers.append((append.number, answer))
  }

  private static func result(of batch: Batch, _ records: [SharedRecord], _ head: SharedHead) -> SharedAppended {
    guard let first = records.first, first.batch.record == batch.record else { return .folded(head) }
    return first.batch == batch ? .stored(first.revision) : .moved(records)
  }
}
