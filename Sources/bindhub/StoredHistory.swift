import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import BindingTerminal
import Foundation

/// The history that a hub's store keeps.
struct StoredHistory: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Show how much history the hub's store keeps of each model, or drop some of it.",
    discussion: """
      To read a model's history:  bindpeer history MODEL
      """,
    subcommands: [Sizes.self, Drop.self], defaultSubcommand: Sizes.self)

  /// Lists sizes.
  struct Sizes: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the compacted history of each model: its commits, bytes and oldest version.")

    @OptionGroup var kept: KeptStore

    @Flag(name: .long, help: "Print JSON, one object per line.")
    var json = false

    func run() throws {
      let sizes: [HistorySize]
      do throws(StoreError) { sizes = try SQLiteStore.histories(path: kept.path()) } catch {
        fail(error.description, error.exitCode)
      }
      for size in sizes {
        guard json else {
          print(
            "\(size.model)  \(size.commits) commit\(size.commits == 1 ? "" : "s")  \(size.bytes) bytes  "
              + "from version \(size.oldest)")
          continue
        }
        print(
          JSON.object([
            .init("model", .string(size.model)), .init("commits", .integer(Int64(size.commits))),
            .init("bytes", .integer(Int64(size.bytes))), .init("oldest", .integer(Int64(clamping: size.oldest))),
          ]).text)
      }
      if sizes.isEmpty { StandardStreams.complain("No history is compacted yet. The log has the latest commits.") }
    }
  }

  /// Removes what should not have been written.
  struct Drop: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove from a model's history what should not have been written. The hub keeps running.",
      discussion: """
        It compacts the whole log first, so that all commits until now are in the history. The present values stay: \
        overwrite or delete them before. Backups, the values that peers hold, and what readers have seen stay, too.
        With --field the commits keep saying that they changed the field, without the values.
        """)

    @Argument(help: "The model.")
    var model: String

    @Option(help: "Drop only commits before this version.")
    var before: UInt64?

    @Option(help: "Drop only the values of this field.")
    var field: String?

    @Flag(name: .customLong("yes"), help: "Do not ask.")
    var isConfirmed = false

    @OptionGroup var kept: KeptStore

    @Option(help: "Milliseconds to wait for the result.")
    var timeout = 600_000

    mutating func validate() throws {
      if before != nil, field != nil { throw ValidationError("--before and --field cannot be combined. Omit one") }
    }

    func run() throws {
      do throws(WireError) {
        try Names.checkModel(model)
        if let field { try Names.checkField(field) }
      } catch {
        fail("'\(PrintedText.escaped(field ?? model, limit: 80))' \(error.problem)", 64)
      }
      let part: HistoryDrop.Part = before.map { .before($0) } ?? field.map { .field($0) } ?? .all
      let drop = HistoryDrop(model: model, part: part)
      confirm(drop)
      let path = kept.path()
      let done: String
      do throws(StoreError) {
        guard try SQLiteStore.isInUse(path) else {
          fail("No hub has \(path) open. Start it:  bindhub serve --store \(path)", 69)
        }
        try AdminRequest.drop(drop).leave(at: path)
        done = waitForRequest(at: path, timeoutMilliseconds: timeout)
      } catch {
        fail(error.description, error.exitCode)
      }
      print("\(path)  \(done)")
    }

    private func confirm(_ drop: HistoryDrop) {
      guard !isConfirmed else { return }
      guard isatty(0) == 1, isatty(2) == 1 else {
        fail("This removes \(drop.words) for good. To do it:  --yes", 64)
      }
      StandardStreams.show("Remove \(drop.words) for good? [y/N] ")
      guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else { fail("Nothing was removed.", 1) }
    }
  }
}
