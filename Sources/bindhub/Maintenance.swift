import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import BindingTerminal
import Foundation

/// Copies a store, even while its hub runs.
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the hub's store to a file and check the copy. The hub keeps running.",
    discussion: "Of a log in etcd each model is copied as it is at one moment, without earlier commits.")

  @Argument(help: "File to create; it must not exist.")
  var file: String

  @OptionGroup var kept: KeptStore

  @OptionGroup var etcd: EtcdChoice

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func run() throws {
    let (place, file) = (kept.place(), absolutePath(file))
    let progress = Progress("backup")
    do throws(StoreError) {
      switch place {
      case .file(let path): try SQLiteStore.backup(of: path, to: file) { progress.show($0) }
      case .etcd(let address):
        try etcd.read(from: address) { logID, epoch, models throws(StoreError) in
          try SQLiteStore.makeBackup(at: file, logID: logID, epoch: epoch, of: models)
        }
      }
      progress.end()
      let found = try SQLiteStore.check(path: file)
      printReport(found, of: file, json: json)
    } catch {
      progress.end()
      fail(error.description, error.exitCode)
    }
  }
}

/// Checks a store, even while its hub runs.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Read a whole store or backup and check it. The hub keeps running.",
    discussion: "Exit codes: 0 the file is intact, 73 it cannot be opened, 74 it is damaged.")

  @Argument(help: "Backup or store file. Default: the store of the hub.")
  var file: String?

  @OptionGroup var kept: KeptStore

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func run() throws {
    let path = file.map { absolutePath($0) } ?? kept.path()
    do throws(StoreError) {
      printReport(try SQLiteStore.check(path: path), of: path, json: json)
    } catch {
      fail(error.description, error.exitCode)
    }
  }
}

/// Restores a store from a backup.
struct Restore: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Restore the hub's store from a backup. A running hub continues from the backup.",
    discussion: """
      The previous store is kept in the same directory, under a name that contains '.before-'. The hub begins a new
      epoch: peers adopt the values of the backup and do not bring back later commits. Pending writes are sent again.

      With --store etcd://…, the backup becomes the log of several hubs, at a prefix that has none; start the hubs
      afterwards. Earlier commits are not taken along.
      """)

  @Argument(help: "File made by 'bindhub backup'.")
  var file: String

  @OptionGroup var kept: KeptStore

  @OptionGroup var etcd: EtcdChoice

  @Option(help: "Milliseconds to wait for a running hub.")
  var timeout = 30_000

  func run() throws {
    let file = absolutePath(file)
    do throws(StoreError) {
      let found = try SQLiteStore.check(path: file)
      if let address = kept.store, EtcdChoice.isAddress(address) { return try restore(found, from: file, to: address) }
      let path = kept.path()
      do throws(StoreError) {
        let aside = try SQLiteStore.restore(backup: file, to: path)
        print("\(path) is restored from \(file): \(words(found))")
        if let aside { print("The previous store is kept:  \(aside)") }
      } catch {
        guard error.kind == .inUse else { throw error }
        try AdminRequest.restore(file).leave(at: path)
        waitForRequest(at: path, timeoutMilliseconds: timeout)
        print("\(path) is restored from \(file): \(words(found))")
        print("The hub continues from it. The previous store is kept:  \(path).before-*")
      }
    } catch {
      fail(error.description, error.exitCode)
    }
  }

  private func restore(_ found: StoreCheck, from file: String, to address: String) throws(StoreError) {
    try etcd.write(to: address, logID: found.logID, epoch: found.nextEpoch) { write throws(StoreError) in
      try SQLiteStore.read(path: file) { try write($0) }
    }
    let words = "\(found.models) models, \(found.fields) fields"
    print("\(PrintedText.escaped(address)) is restored from \(file): \(words)")
    print("Start its hubs:  bindhub serve --store \(PrintedText.escaped(address))")
  }
}

/// Recreates a damaged or deleted store.
struct Recover: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Recreate a damaged or deleted store as the same log; peers bring back their commits.",
    discussion: """
      Stop the hub before this command, and start it afterwards: it begins a later epoch and asks each peer that
      connects for the commits that the store lacks. It waits for peers for the time of --for, and takes old replicas
      too, which peers have kept in a file; of each model the one with the highest epoch and version.
      With a backup, the store begins with the backup's content. The
      previous file is kept in the same directory, under a name that contains '.before-'. To return to a backup without
      recovering later commits:  bindhub restore BACKUP
      """)

  @Argument(help: "File made by 'bindhub backup'. Default: the store begins empty.")
  var backup: String?

  @OptionGroup var kept: KeptStore

  @Option(
    name: .customLong("log"),
    help: """
      Log id to go on with, as 'bindhub status' and 'bindpeer --keep FILE get --json' print it; needed only if no file \
      of the store contains it.
      """)
  var logID: String?

  @Option(name: .customLong("for"), help: "How long the hub waits for peers, such as 10s or 5m; at most 1h.")
  var wait = TimeSpan(seconds: 60)

  func validate() throws {
    if wait.milliseconds > 3_600_000 { throw ValidationError("--for is at most 1h") }
  }

  func run() throws {
    let path = kept.pathOfLost()
    let given = logID.map { text in
      guard let number = UInt64(text, radix: 16), number > 0 else {
        fail("--log needs the log id that 'bindhub status' or 'bindpeer --keep FILE get --json' prints", 64)
      }
      return number
    }
    let limit = ContinuousClock.now + .seconds(2)
    while true {
      do throws(StoreError) {
        let done = try SQLiteStore.recover(path, backup: backup.map { absolutePath($0) }, logID: given)
        print("\(path) is recreated as log \(String(done.logID, radix: 16)), \(backup.map { "from \($0)" } ?? "empty")")
        if let aside = done.aside { print("The previous file is kept:  \(aside)") }
        try RecoveryWait.leave(wait.milliseconds, at: path)
        print(
          "Start the hub; its peers then bring back their commits, for which it waits "
            + "\(wait.defaultValueDescription):  bindhub serve")
        return
      } catch {
        // A hub that is restarted in a loop holds the store briefly each time.
        guard error.kind == .inUse, ContinuousClock.now < limit else { fail(error.description, error.exitCode) }
        Thread.sleep(forTimeInterval: 0.05)
      }
    }
  }
}

/// Compacts a store to its minimum size.
struct Compact: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compact the log of the hub's store and return free space to the disk. The hub keeps running.",
    discussion: "A hub compacts its log in small steps. This command compacts the whole log now.")

  @OptionGroup var kept: KeptStore

  @Option(help: "Milliseconds to wait for the result.")
  var timeout = 600_000

  func run() throws {
    let path = kept.path()
    let done: String
    do throws(StoreError) {
      guard try SQLiteStore.isInUse(path) else {
        fail("No hub has \(path) open. Start it:  bindhub serve --store \(path)", 69)
      }
      try AdminRequest.compact.leave(at: path)
      done = waitForRequest(at: path, timeoutMilliseconds: timeout)
    } catch {
      fail(error.description, error.exitCode)
    }
    print("\(path)  \(done)")
  }
}

/// Blocks until the hub has carried out the request; ends the program if the hub refuses or does not get to it in
/// time.
/// - Returns: the hub's report of what was done, if any.
@discardableResult
func waitForRequest(at path: String, timeoutMilliseconds: Int) -> String {
  let limit = ContinuousClock.now + .milliseconds(timeoutMilliseconds)
  while ContinuousClock.now < limit {
    switch AdminRequest.result(at: path) {
    case .fulfilled(let done): return done
    case .refused(let reason): fail("The hub refused: \(reason)", 74)
    case .waiting, .underWay: Thread.sleep(forTimeInterval: 0.05)
    }
  }
  if case .underWay(let progress) = AdminRequest.result(at: path) {
    fail("The hub is not done after \(timeoutMilliseconds) ms and continues: \(progress).", 75)
  }
  AdminRequest.withdraw(at: path)
  fail("The hub that has \(path) open did not begin within \(timeoutMilliseconds) ms; nothing was changed.", 75)
}

private func words(_ check: StoreCheck) -> String {
  "\(check.models) models, \(check.fields) fields, \(check.records) records"
}

private func printReport(_ check: StoreCheck, of path: String, json: Bool) {
  guard json else { return print("\(path)  \(words(check)), \(check.bytes) bytes: intact") }
  print(
    JSON.object([
      .init("path", .string(path)), .init("logID", .string(String(check.logID, radix: 16))),
      .init("epoch", .string(String(check.epoch, radix: 16))), .init("format", .integer(Int64(check.format))),
      .init("models", .integer(Int64(check.models))), .init("fields", .integer(Int64(check.fields))),
      .init("records", .integer(Int64(clamping: check.records))),
      .init("bytes", .integer(Int64(clamping: check.bytes))),
    ]).text)
}

/// Shows progress, on a terminal only, and only after a second.
private final class Progress {
  private let name: String
  private let isTerminal = isatty(2) == 1
  private let began = ContinuousClock.now
  private var isShown = false

  init(_ name: String) { self.name = name }

  func show(_ part: Double) {
    guard isTerminal, ContinuousClock.now - began > .seconds(1) else { return }
    isShown = true
    StandardStreams.show("\r\(name)  \(Int(part * 100)) %")
  }

  func end() {
    guard isShown else { return }
    isShown = false
    StandardStreams.show("\r\u{1B}[K")
  }
}
