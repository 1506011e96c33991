import ArgumentParser
import BindingPeer
import BindingTerminal

/// Lists earlier commits.
struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List earlier commits of a model or field, the newest first.",
    discussion: """
      A hub keeps some history: of a model its last 1,000 commits, at most 1 MiB and 7 days, where it stores models in \
      a file; in memory, the last 256 KiB.
      A version that the hub lost and gave again is told apart by its epoch: EPOCH:VERSION.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL or MODEL.FIELD.")
  var address: String
  @OptionGroup var past: PastOptions
  @Option(help: "The most commits. Default: all that are kept.")
  var limit: Int?
  @Flag(name: .customLong("oldest-first"), help: "List the oldest commits first.")
  var isOldestFirst = false

  mutating func run() async throws {
    let address = try Address(address)
    guard !address.isPrefix else { throw Failure(.usage, "history needs one model or one field") }
    if let limit, limit < 1 { throw Failure(.usage, "--limit must be at least 1") }
    _ = try past.query(of: address)
    let peer = try await common.connect()
    let (stored, model) = try await ModelReader(peer: peer, timeout: common.timeout).read([address])[0]
    var query = try past.query(of: stored)
    query.isOldestFirst = isOldestFirst
    let fields = PastFields(query.fields, of: stored, in: model)
    query.fields = fields.query
    let present = model.version.epoch
    var (left, shown) = (limit ?? .max, 0)
    var horizon: SharedModel.Horizon?
    var next: SharedModel.HistoryQuery? = query
    while let asked = next, left > 0 {
      let page: SharedModel.HistoryPage
      do {
        page = try await model.historyPage(asked, count: min(left, 1_000), timeout: common.timeout.duration)
      } catch {
        throw Failure(error, of: model.id, from: peer)
      }
      let commits = page.commits.compactMap { fields.part(of: $0) }
      show(commits, of: model, present)
      shown += commits.count
      left -= commits.count
      (next, horizon) = (page.next, page.horizon)
    }
    let end = horizon?.words(of: model.id)
    // What is left of a limit was cut by it, not by the horizon.
    if let end, left > 0 { Terminal.complain(end) }
    if shown == 0 {
      let near = address.field.flatMap { model[$0] == nil ? nearest(to: $0, among: model.values.keys) : nil }
      let hint = near.map { " Did you mean \(model.id).\($0)?" } ?? ""
      throw Failure(.no, "There is no such commit of \(address.description).\(hint)")
    }
    await peer.close(flush: .zero)
  }

  private func show(_ commits: [SharedModel.PastCommit], of model: SharedModel, _ present: Epoch) {
    if common.json {
      for commit in commits { JSONLine(of: commit, in: model.id).print() }
      return
    }
    var lines = AlignedLines()
    for commit in commits {
      lines.add([
        commit.address(present), PastTime.shown(commit.time), commit.writer.attribution,
        commit.changes.isEmpty
          ? "nothing that is still there"
          : commit.changes.shown.map { $0.words(in: model.shownDescription) }.joined(separator: "  "),
      ])
    }
    lines.print(dim: [1, 2], right: [0])
  }
}

extension SharedModel.PastCommit {
  /// The version, with its epoch if that is not the present one.
  func address(_ present: Epoch) -> String {
    epoch == present ? "\(version)" : "\(String(epoch, radix: 16)):\(version)"
  }
}

extension SharedModel.PastCommit.Change {
  /// The change for display, in a model of that description.
  func words(in described: ModelDescription, onScreen: Bool = Terminal.isScreen) -> String {
    let title = FieldTitle.of(field)
    return value.map { "\(title) → \(described.readable($0, of: field, onScreen: onScreen))" }
      ?? (isRemoved ? "\(title) removed" : "\(title) deleted")
  }
}

extension JSONLine {
  /// An earlier commit; a test pins the names.
  init(of commit: SharedModel.PastCommit, in model: String) {
    self.init()
    add("model", .string(model))
    add("epoch", .string(String(commit.epoch, radix: 16)))
    add("version", .integer(Int64(clamping: commit.version)))
    add(commit.writer)
    add("time", .integer(Int64(clamping: commit.time)))
    add("number", .integer(Int64(commit.number)))
    add("changes", values: commit.changes.filter { !$0.isRemoved }.map { ($0.field, $0.value) })
    let removed = commit.changes.filter(\.isRemoved)
    if !removed.isEmpty { add("removed", .array(removed.map { .string($0.field) })) }
  }
}
