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
      steps = try await self.steps(to: asked.map { $0.stored(in: model) }, of: model)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(error, of: model.id, from: peer)
    }
    if steps.isEmpty {
      if !common.json { Terminal.print("\(model.id)  unchanged") }
    } else {
      try confirm(steps, of: model)
      let proposal = Proposal(operations: steps.flatMap(\.operations), conditions: steps.map(\.condition))
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
    let operations: [FieldOperation]
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

  private func steps(to addresses: [Address], of model: SharedModel) async throws -> [Step] {
    // An address without a field is the only one.
    let named = addresses.filter { $0.field != nil }
    var fields = named.compactMap { $0.field }
    var changed: [String] = []
    if named.isEmpty || fields.contains(where: { UntypedList($0, in: model) != nil }) {
      changed = try await changedFields(of: model)
      if named.isEmpty { fields = changed.map { ListElements.parts(of: $0).map { String($0.list) } ?? $0 } }
    }
    var steps: [Step] = []
    var plain: [String] = []
    for field in Swift.Set(fields).sorted() {
      guard let list = UntypedList(field, in: model) else {
        plain.append(field)
        continue
      }
      let elements = named.filter { $0.field == field }.map { $0.element?.id }
      let ids = elements.isEmpty || elements.contains(nil) ? nil : Swift.Set(elements.compactMap { $0 })
      steps += try await self.steps(to: ids, of: list, changed, of: model)
    }
    return try await self.steps(to: plain, of: model) + steps
  }

  private func steps(to fields: [String], of model: SharedModel) async throws -> [Step] {
    try await values(of: fields, in: model).compactMap { field, then in
      guard let record = model.record(field), then.value != record.committed else { return nil }
      let operation = FieldOperation(then.value == nil ? .delete : .set, field, then.value)
      return Step(
        field: field, now: record.committed, then: then.value, operations: [operation],
        condition: Condition(field: field, epoch: record.epoch, version: record.version))
    }
  }

  /// - Parameters:
  ///   - ids: the elements; nil: all, and their order.
  ///   - changed: the fields that have changed since, those of other fields included.
  private func steps(
    to ids: Swift.Set<String>?, of list: UntypedList, _ changed: [String], of model: SharedModel
  ) async throws -> [Step] {
    let gone = changed.filter { ListElements.parts(of: $0)?.list == list.name[...] }
    let fields = Swift.Set(list.ids.map(list.field) + gone).sorted()
    let values = try await values(of: fields, in: model)
    let past = RevertedList(list, at: Dictionary(uniqueKeysWithValues: values))
    let operations: [FieldOperation]
    do {
      operations = try past.operations(of: ids)
    } catch {
      throw Failure(.doesNotFit, "\(model.id).\(list.name): \(error)")
    }
    var names: [String] = []
    for operation in operations where !names.contains(operation.field) { names.append(operation.field) }
    return names.compactMap { field in
      guard let record = model.record(field), let id = ListElements.parts(of: field)?.id else { return nil }
      return Step(
        field: field, now: list[String(id)], then: past.element(String(id)),
        operations: operations.filter { $0.field == field },
        condition: Condition(field: field, epoch: record.epoch, version: record.version))
    }
  }

  private func values(of fields: [String], in model: SharedModel) async throws -> [(String, PastValue)] {
    let (values, horizon) = try await model.values(
      of: fields, before: target.version + 1, timeout: common.timeout.duration)
    return try fields.map { field in
      guard let value = values[field] else { throw unknown(field, horizon, model.id) }
      return (field, value)
    }
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
      "The value that \(model).\(FieldTitle.of(field)) had at version \(target.version) is no longer in the history: "
        + "it was written before, or removed.\(oldest)")
  }

  private func confirm(_ steps: [Step], of model: SharedModel) throws {
    guard !isConfirmed, isatty(0) == 1, isatty(2) == 1 else { return }
    for step in steps {
      let (now, then) = (model.readable(step.now, of: step.field), model.readable(step.then, of: step.field))
      let isMoved = step.now == step.then && step.operations.contains { $0.verb == .move }
      Terminal.complain("  \(FieldTitle.of(step.field))  \(isMoved ? "moves" : "\(now) → \(then)")")
    }
    StandardStreams.show("Write this to \(PrintedText.escaped(model.id))? [y/N] ")
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
      throw Failure(.no, "Nothing was written.")
    }
  }
}
