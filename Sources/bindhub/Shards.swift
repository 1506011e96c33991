import ArgumentParser
import BindingEtcd
import BindingHub
import BindingProtocol
import BindingTerminal
import Foundation

/// Where the models of a log in etcd are, and moves them.
struct Shards: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show in which etcd the models of a log are, or move some to another one.",
    discussion: """
      A log in etcd may have parts in further etcd clusters, its shards, where one cluster would be too slow or too
      small. Models belong to the shard of the longest prefix of their ids, all others to the root, which is what
      'bindhub serve --store' names. Hubs and peers see one log.
      """,
    subcommands: [List.self, Move.self], defaultSubcommand: List.self)

  /// Prints the map.
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the prefixes and the etcd that has their models.")

    @OptionGroup var log: ShardedLog

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run() throws {
      #if Etcd
        let (address, map) = log.open { shards throws(StoreError) in try shards.map() }
        show(map, address)
      #else
        log.etcd.failWithoutEtcd()
      #endif
    }

    private func show(_ map: ShardMap, _ address: String) {
      if json { return print(Shards.json(map, address).text) }
      var rows = [("(all others)", PrintedText.escaped(address))]
      for entry in map.entries {
        let target = entry.target.map { "  being moved to \(PrintedText.escaped(Shards.name($0, map, address)))" }
        rows.append((entry.prefix, PrintedText.escaped(Shards.name(entry.shard, map, address)) + (target ?? "")))
      }
      let width = rows.map(\.0.count).max() ?? 0
      for (prefix, place) in rows { print(prefix.padding(toLength: width + 2, withPad: " ", startingAt: 0) + place) }
    }
  }

  /// Moves models.
  struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Move the models below a prefix to another etcd. Hubs and peers go on.",
      discussion: """
        Everything is copied first. Writes below the prefix wait while the rest is copied, mostly for less than two
        seconds. If it is interrupted, the same command goes on, and --back leaves the models where they were.
        Exit codes: 0 moved, 64 usage error, 73 an etcd does not answer or has another log, 74 it refuses or is full.
        """)

    @Argument(help: "What the ids of the models begin with, with a slash at its end, such as orders/.")
    var prefix: String

    @Option(help: "etcd://HOST:PORT,…/PREFIX: where the models go. A prefix with keys of something else is refused.")
    var to: String?

    @Flag(help: "End a move that was interrupted: the models stay where they are.")
    var back = false

    @OptionGroup var log: ShardedLog

    func validate() throws {
      if (to == nil) != back { throw ValidationError("Name where the models go with --to, or --back") }
      do throws(ShardMap.Refusal) { try ShardMap.check(prefix) } catch { throw ValidationError(error.description) }
      if let to, !EtcdChoice.isAddress(to) { throw ValidationError("--to needs etcd://HOST:PORT,…/PREFIX") }
    }

    func run() throws {
      #if Etcd
        let target = to.map(log.etcd.address)
        let began = ContinuousClock.now
        var held: ContinuousClock.Instant?
        let tell = { (progress: EtcdShards.Progress) in
          switch progress {
          case .copied(let models): StandardStreams.complain("copied \(models) models")
          case .held: held = .now
          case .moved(let models):
            let pause = held.map { ", and held writes for \(Self.words(.now - $0))" } ?? ""
            StandardStreams.complain(target == nil ? "they stay" : "copied \(models) more\(pause)")
          case .deleted: break
          }
        }
        log.open(progress: tell) { shards throws(StoreError) in
          if let target { try shards.move(prefix, to: target) } else { try shards.takeBack(prefix) }
        }
        let place = to.map { "is in \(PrintedText.escaped($0))" } ?? "stays"
        print("\(prefix) \(place)  (\(Self.words(.now - began)))")
      #else
        log.etcd.failWithoutEtcd()
      #endif
    }

    private static func words(_ duration: Duration) -> String {
      duration.formatted(.units(allowed: [.minutes, .seconds, .milliseconds], width: .narrow, maximumUnitCount: 1))
    }
  }

  fileprivate static func name(_ shard: UInt16, _ map: ShardMap, _ root: String) -> String {
    map.address(of: shard) ?? root
  }

  fileprivate static func json(_ map: ShardMap, _ root: String) -> JSON {
    .object([
      .init("root", .string(root)), .init("version", .integer(Int64(clamping: map.version))),
      .init("shards", .array(map.shards.map { .string($0.address) })),
      .init(
        "prefixes",
        .array(
          map.entries.map { entry in
            .object([
              .init("prefix", .string(entry.prefix)), .init("shard", .string(name(entry.shard, map, root))),
              .init("movingTo", entry.target.map { .string(name($0, map, root)) } ?? .null),
            ])
          })),
    ])
  }
}

/// Selects a log in etcd.
struct ShardedLog: ParsableArguments {
  @OptionGroup var kept: KeptStore

  @OptionGroup var etcd: EtcdChoice

  /// Opens the log, and ends the program with what `body` throws.
  /// - Returns: its address, and what `body` returns.
  #if Etcd
    @discardableResult func open<Result>(
      progress: @escaping (EtcdShards.Progress) -> Void = { _ in },
      _ body: (EtcdShards) throws(StoreError) -> Result
    ) -> (address: String, Result) {
      guard case .etcd(let text) = kept.place() else {
        fail("Shards are of a log in etcd. Name it:  --store etcd://HOST:PORT,…/PREFIX", 64)
      }
      do throws(StoreError) {
        let address = etcd.address(text)
        let shards = try EtcdShards(address, etcd.options, progress: progress)
        defer { shards.close() }
        return (address.description, try body(shards))
      } catch {
        fail(error.description, error.exitCode)
      }
    }
  #endif
}
