import ArgumentParser
import BindingPeer
import BindingTerminal
import Foundation

/// Writes the values of an earlier version again.
struct Revert: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write the values that fields had at an earlier version, as one new commit.",
    discussion: """
      The commit is made only if none of these fields changes meanwhile (exit code 3). Nothing is taken back: the \
      commits in between stay in the history, and a revert can be reverted. On a terminal it shows what it will write \
      and asks.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL.FIELD, several fields of one model, or MODEL for all its fields.")
  var addresses: [String]
  @Option(name: .customLong("to"), help: "VERSION, or EPOCH:VERSION as bindpeer history shows it.")
  var target: PastAddress
  @Flag(name: .customLong("yes"), help: "Do not ask.")
  var isConfirmed = false

  mutating func run() async throws {
    let asked = try addresses.map { text throws(Failure) in try Address(text) }
    guard let first = asked.first, asked.allSatisfy({ $0.model == first.model && !$0.isPrefix }),
      asked.count == 1 || asked.allSatisfy({ $0.field != nil })
    else { throw Failure(.usage, "revert needs one model, or fields of one model") }
    let peer = try await common.connect()
    let model = try await ModelReader(peer: peer, timeout: common.timeout).read([first])[0].1
    guard target.version <= model.version.version else {
      throw Failure(.usage, "\(model.id) is at version \(model.version.version); --to names a later one")
    }
    let steps: [Step]
    do {
      try await check(model)
      let named = asked.compactMap(\.field)
      let fields = try await named.isEmpty ? changedFields(of: model) : named
      steps = try await self.steps(to: fields, of: model)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(error, of: model.id)
    }
    if steps.isEmpty {
      if !common.json { Terminal.print("\(model.id)  unchanged") }
    } else {
      try confirm(steps, of: model)
      let proposal = Proposal(
        operations: steps.map { FieldOperation($0.then == nil ? .delete : .set, $0.field, $0.then) },
        conditions: steps.map(\.condition))
      let again = "To see it:  bindpeer get \(model.id) --meta        Then revert again."
      try await WriteReport(common: common, model: model, conflictAdvice: again).send(proposal)
    }
    await peer.close(flush: .zero)
  }

  /// One field that gets another value.
  private struct Step {
    let field: String
    let now: FieldValue?
    let then: FieldValue?
    let condition: Condition
  }

  /// Checks that the log has this version in the named epoch.
  private func check(_ model: SharedModel) async throws {
    guard let epoch = target.epoch else { return }
    var query = SharedModel.HistoryQuery()
    query.versions = target.version...target.version
    let page = try await model.historyPage(query, count: 1, timeout: common.timeout.duration)
    let address = "\(String(epoch, radix: 16)):\(target.version)"
    guard let commit = page.commits.first else { throw pastHorizon(page.horizon, model.id) }
    guard commit.epoch == epoch else {
      throw Failure(
        .no,
        "\(model.id) has no version \(address): its version \(target.version) is of epoch "
          + "\(String(commit.epoch, radix: 16)). The hub lost the other one.")
    }
  }

  /// The fields that changed after the version, all of them or none.
  private func changedFields(of model: SharedModel) async throws -> [String] {
    var query: SharedModel.HistoryQuery? = SharedModel.HistoryQuery()
    query?.versions = (target.version + 1)...(.max)
    var fields: Swift.Set<String> = []
    while let asked = query {
      let page = try await model.historyPage(asked, timeout: common.timeout.duration)
      guard page.horizon.version <= target.version + 1 else { throw pastHorizon(page.horizon, model.id) }
      for change in page.commits.flatMap(\.changes) where !change.field.hasPrefix("@") { fields.insert(change.field) }
      query = page.next
    }
    return fields.sorted()
  }

  private func steps(to fields: [String], of model: SharedModel) async throws -> [Step] {
    let (values, horizon) = try await model.values(
      of: fields, before: target.version + 1, timeout: common.timeout.duration)
    var steps: [Step] = []
    for field in fields {
      guard let record = model.record(field) else { continue }
      guard let then = values[field] else { throw unknown(field, horizon, model.id) }
      guard then.value != record.committed else { continue }
      steps.append(
        Step(
          field: field, now: record.committed, then: then.value,
          condition: Condition(field: field, epoch: record.epoch, version: record.version)))
    }
    return steps
  }

  private func pastHorizon(_ horizon: SharedModel.Horizon, _ model: String) -> Failure {
    Failure(
      .no,
      "The hub no longer has all commits of \(model) after version \(target.version). The oldest version that it can "
        + "return to is \(horizon.version - min(horizon.version, 1)).")
  }

  private func unknown(_ field: String, _ horizon: SharedModel.Horizon?, _ model: String) -> Failure {
    let oldest = horizon.map { " The oldest version that is left is \($0.version)." } ?? ""
    return Failure(
      .no,
      "The value that \(model).\(field) had at version \(target.version) is no longer in the history: it was written "
        + "before, or removed.\(oldest)")
  }

  private func confirm(_ steps: [Step], of model: SharedModel) throws {
    guard !isConfirmed, isatty(0) == 1, isatty(2) == 1 else { return }
    for step in steps {
      let (now, then) = (model.readable(step.now, of: step.field), model.readable(step.then, of: step.field))
      Terminal.complain("  \(FieldTitle.of(step.field))  \(now) → \(then)")
    }
    StandardStreams.show("Write this to \(PrintedText.escaped(model.id))? [y/N] ")
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
      throw Failure(.no, "Nothing was written.")
    }
  }
}
