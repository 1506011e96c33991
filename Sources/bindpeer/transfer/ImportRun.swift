import BindingPeer
import BindingTerminal

/// An import under way: models are read and written in groups.
struct ImportRun {
  private let common: CommonOptions
  private let way: ImportedModel.Way
  private let reader: ModelReader
  private(set) var report = ImportReport()
  private var group: [(line: Int, model: ImportedModel)] = []
  /// Nil: lines of JSON, or nothing yet.
  private var table: ImportedTable?
  private var isAtStart = true
  /// Whether what follows cannot be read.
  private(set) var isAtEnd = false
  /// The line in which the row of a table began.
  private var rowStart = 0

  init(common: CommonOptions, way: ImportedModel.Way, reader: ModelReader) {
    (self.common, self.way, self.reader) = (common, way, reader)
  }

  /// Takes the next line, and writes a group that is full. Empty lines are none.
  mutating func take(_ line: [UInt8]) async throws {
    report.lines += 1
    let isInRow = table?.isInRecord == true
    guard isInRow || !line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) else { return }
    if isAtStart {
      isAtStart = false
      table = ImportedTable(firstLine: line)
    }
    if !isInRow { rowStart = report.lines }
    let model: ImportedModel?
    do throws(ImportedModel.Fault) {
      model = table == nil ? try ImportedModel(line) : try table?.take(line)
    } catch {
      report.reject(rowStart, error.words)
      // Without names of its columns no row means anything.
      if table?.hasNames == false { isAtEnd = true }
      return
    }
    guard let model else { return }
    // A later line of a model is compared with what an earlier one made of it.
    let isTwice = group.contains { $0.model.model == model.model }
    if isTwice || group.count == Export.modelsAtOnce { try await writeGroup() }
    group.append((rowStart, model))
    report.models += 1
  }

  /// Takes the end of the file, writes what is left, and waits for the outcomes.
  mutating func end() async throws {
    if let fault = table?.lastFault, !isAtEnd { report.reject(rowStart, fault.words) }
    try await writeGroup()
  }

  /// Writes what has been taken, and waits for the outcomes.
  private mutating func writeGroup() async throws {
    let entries = group
    group.removeAll()
    let addresses = try entries.map { entry throws(Failure) in try Address(entry.model.model) }
    let present = try await reader.read(addresses).map(\.1)
    let way = way
    // Before the values: it says which fields are lists.
    await write(entries, to: present) { model, present in model.describing(present, way) }
    await write(entries, to: present) { model, present throws(ImportedModel.Fault) in
      try model.proposals(to: present, way)
    }
  }

  private mutating func write(
    _ entries: [(line: Int, model: ImportedModel)], to present: [SharedModel],
    _ proposals: (ImportedModel, SharedModel) throws(ImportedModel.Fault) -> [Proposal]
  ) async {
    var writes: [(line: Int, model: SharedModel, proposal: Proposal, write: PendingWrite)] = []
    for ((line, model), present) in zip(entries, present) {
      do {
        for proposal in try proposals(model, present) {
          writes.append((line, present, proposal, try present.write(proposal)))
        }
      } catch let fault as ImportedModel.Fault {
        report.reject(line, fault.words)
      } catch {
        report.reject(line, "does not fit: \(error)")
      }
    }
    let end = ContinuousClock.now + common.timeout.duration
    for (line, model, proposal, write) in writes {
      let outcome = await write.outcome(timeout: max(.zero, end - .now))
      if common.json, let outcome { outcome.json(model: model.id, current: write.current).print() }
      report.note(outcome, of: proposal, line, model.id)
    }
  }
}

/// What has become of the lines of an import.
struct ImportReport {
  var lines = 0
  var models = 0
  private var fields = 0
  private var bad: [Int] = []
  /// A line may have several proposals.
  private var refused: Swift.Set<Int> = []
  private var unknown: Swift.Set<Int> = []

  var hasBadLine: Bool { !bad.isEmpty }

  mutating func reject(_ line: Int, _ words: String) {
    Terminal.complain("line \(line) \(words)")
    bad.append(line)
  }

  /// - Parameter outcome: nil: there is none yet.
  mutating func note(_ outcome: Outcome?, of proposal: Proposal, _ line: Int, _ model: String) {
    switch outcome {
    case .committed:
      // A list is written element by element.
      let names = proposal.operations.map { ListElements.parts(of: $0.field).map { String($0.list) } ?? $0.field }
      fields += Swift.Set(names).count { !$0.hasPrefix("@") }
    case .unchanged: break
    case .unknown, nil: unknown.insert(line)
    case .refused(let refusal):
      Terminal.complain("line \(line): \(refusal.report(on: model))")
      refused.insert(line)
    case let outcome?:
      Terminal.complain("line \(line): \(outcome.explanation(of: model))")
      refused.insert(line)
    }
  }

  var summary: String {
    "\(models) \(models == 1 ? "model" : "models"), \(fields) \(fields == 1 ? "field" : "fields") written"
  }

  /// Nil: all lines took effect.
  var failure: Failure? {
    var words: [String] = []
    if !bad.isEmpty { words.append("Not written: \(PipedLines.words(bad)).") }
    if !refused.isEmpty { words.append("Refused: \(PipedLines.words(Array(refused))).") }
    if !unknown.isEmpty {
      words.append("Outcome unknown: \(PipedLines.words(Array(unknown))). Import again; what is written stays so.")
    }
    guard !words.isEmpty else { return nil }
    let code: Failure.Code = !bad.isEmpty ? .doesNotFit : unknown.isEmpty ? .conflict : .timedOut
    return Failure(code, words.joined(separator: "\n"))
  }
}
