package import BindingHub
import BindingProtocol
import Dispatch
import Synchronization

/// A handle of a shared store with the events that it delivered.
package final class SharedStoreClient: Sendable {
  package let store: any SharedStore
  private let progress: @Sendable () -> Void
  private let events = Mutex<[SharedEvent]>([])
  private let numbers = Mutex<UInt64>(0)
  private let inEvent = Mutex<Int>(0)

  /// - Parameter progress: makes or awaits some progress of the handle.
  package init(_ store: any SharedStore, progress: @escaping @Sendable () -> Void) {
    self.store = store
    self.progress = progress
    // SAFETY: the handle is closed before the client ends, and no event comes after that.
    store.begin { [weak self] event in
      guard let self else { return }
      inEvent.withLock { $0 += 1 }
      events.withLock { $0 += [event] + SharedStoreClient.followed(with: event) }
      inEvent.withLock { $0 -= 1 }
    }
  }

  /// Records that come with an answer are followed like others.
  private static func followed(with event: SharedEvent) -> [SharedEvent] {
    guard case .appended(_, let answers) = event else { return [] }
    let records = answers.flatMap(\.later)
    return records.isEmpty ? [] : [.followed(records, records.map(\.revision).max() ?? 0)]
  }

  /// All events so far.
  package var all: [SharedEvent] { events.withLock { $0 } }

  /// Waits for an event.
  /// - Parameter first: the number of events to pass over.
  @discardableResult package func wait<Found>(
    _ what: String, after first: Int = 0, seconds: Double = 30, _ pick: (SharedEvent) -> Found?
  ) throws -> Found {
    let deadline = DispatchTime.now() + seconds
    while true {
      if let found = all.dropFirst(first).lazy.compactMap(pick).first { return found }
      guard .now() < deadline else {
        throw ContractError("no event with \(what) came; these came: \(all.suffix(12))".prefixed(1_500))
      }
      progress()
    }
  }

  /// Waits until a condition holds.
  package func wait(until what: String, seconds: Double = 30, _ holds: () throws -> Bool) throws {
    let deadline = DispatchTime.now() + seconds
    while try !holds() {
      guard .now() < deadline else {
        throw ContractError("\(what): not yet; events: \(all.suffix(12))".prefixed(1_500))
      }
      progress()
    }
  }

  /// Lets the handle work a little.
  package func work() { progress() }

  /// Appends without waiting.
  package func submit(_ batches: [SharedBatch]) -> UInt64 {
    let number = numbers.withLock { number in
      number += 1
      return number
    }
    store.append(number, batches)
    return number
  }

  /// The answers to an append, by model; throws for a second answer.
  package func answers(to number: UInt64) throws -> [String: SharedAppended] {
    var found: [String: SharedAppended] = [:]
    for case .appended(number, let answers) in all {
      for answer in answers {
        try expect(found.updateValue(answer.result, forKey: answer.model) == nil, "\(answer.model) has two answers")
      }
    }
    return found
  }

  /// Appends, and waits for all answers.
  package func append(_ batches: [SharedBatch], seconds: Double = 30) throws -> [SharedAppended] {
    let number = submit(batches)
    try wait(until: "all \(batches.count) answers", seconds: seconds) {
      try answers(to: number).count == batches.count
    }
    let found = try answers(to: number)
    return try batches.map { batch in
      guard let result = found[batch.batch.model] else { throw ContractError("no answer of \(batch.batch.model)") }
      return result
    }
  }

  /// Appends a batch that has to be stored.
  /// - Returns: its revision.
  @discardableResult package func store(_ batch: SharedBatch) throws -> SharedRevision {
    let result = try append([batch])[0]
    guard case .stored(let revision) = result else {
      throw ContractError("\(batch.batch.model) \(batch.batch.record): \(result), not stored".prefixed(600))
    }
    return revision
  }

  /// Loads a model.
  package func load(_ model: String) throws -> (head: SharedHead, stored: StoredModel?) {
    let first = all.count
    store.load(model)
    let (head, result) = try wait("\(model), loaded", after: first) {
      if case .loaded(let head, let result) = $0, head.model == model { (head, result) } else { nil }
    }
    return (head, try result.get())
  }

  /// Loads what a fold up to a record needs.
  package func loadToFold(_ model: String, upTo record: UInt64) throws -> StoredModel? {
    let first = all.count
    store.loadToFold(model, upTo: record)
    return try wait("\(model), to be folded", after: first) {
      if case .foldable(model, let result) = $0 { result } else { nil }
    }.get()
  }

  /// Reads a head.
  package func head(of model: String) throws -> SharedHead {
    let first = all.count
    store.head(of: model)
    return try wait("the head of \(model)", after: first) {
      if case .head(let head) = $0, head.model == model { head } else { nil }
    }
  }

  /// Lists all models below a prefix, in pages.
  package func list(_ prefix: String, page: Int) throws -> [String] {
    var names: [String] = []
    while true {
      let first = all.count
      store.list(prefix: prefix, after: names.last ?? "", limit: page)
      let (heads, isLast) = try wait("a list", after: first) {
        if case .listed(prefix, let heads, let isLast) = $0 { (heads, isLast) } else { nil }
      }
      try expect(heads.count <= page, "a page of \(page) has \(heads.count)")
      names += heads.map(\.model)
      if isLast { return names }
    }
  }

  /// Folds a model as it is now.
  @discardableResult package func fold(_ model: String) throws -> SharedFolded {
    let (head, stored) = try load(model)
    guard let stored, let fold = try SharedFold(compacting: stored, head: head) else {
      throw ContractError("\(model) is not there")
    }
    return try finish(fold)
  }

  /// Folds, and waits for the result.
  package func finish(_ fold: SharedFold) throws -> SharedFolded {
    let first = all.count
    store.fold(fold)
    return try wait("\(fold.model), folded", after: first) {
      if case .folded(fold.model, let result) = $0 { result } else { nil }
    }
  }

  /// All records that the tail has delivered.
  package var followed: [SharedRecord] {
    all.flatMap { event in if case .followed(let records, _) = event { records } else { [] as [SharedRecord] } }
  }
}

extension String {
  /// Its beginning, for a message.
  func prefixed(_ count: Int) -> String { String(prefix(count)) }
}
