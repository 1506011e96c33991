import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import BindingTerminal
import Foundation

/// Selects a store: the named one, else that of the hub that answers, else the default one for the hub's address.
struct KeptStore: ParsableArguments {
  @Option(name: .long, help: "The store's file; without it that of the hub.")
  var store: String?

  @OptionGroup var choice: HubChoice

  func path() -> String {
    if let store { return absolutePath(store) }
    let address = choice.address()
    if let reported = HubStatus.ask(address, timeout: .milliseconds(1_000))?["store"]?["path"] {
      guard reported != .null else {
        fail("The hub at \(address) keeps its models in memory: there is no store.\nName one:  --store FILE", 1)
      }
      return reported.plain
    }
    guard let path = StoreChoice.defaultPath(for: address), FileManager.default.fileExists(atPath: path) else {
      let location = StoreChoice.defaultPath(for: address).map { " at \($0)" } ?? ""
      fail("There is no store\(location), and no hub answers at \(address).\nName one:  --store FILE", 73)
    }
    return path
  }
}

extension KeptStore {
  /// The path of a store that may be lost: the named one, else the default one for the hub's address.
  func pathOfLost() -> String {
    if let store { return absolutePath(store) }
    let address = choice.address()
    guard let path = StoreChoice.defaultPath(for: address) else {
      fail("A hub at \(address) has no store of its own.\nName one:  --store FILE", 73)
    }
    return path
  }
}

/// Copies a store, even while its hub runs.
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the hub's store into a file, checked; the hub goes on meanwhile.")

  @Argument(help: "The file to make; it must not exist.")
  var file: String

  @OptionGroup var kept: KeptStore

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func run() throws {
    let (path, file) = (kept.path(), absolutePath(file))
    let progress = Progress("backup")
    do throws(StoreError) {
      try SQLiteStore.backup(of: path, to: file) { progress.show($0) }
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
    abstract: "Read all of a store, or of a backup, and check it; the hub goes on meanwhile.",
    discussion: "Exit codes: 0 all is as it was written, 73 it cannot be opened, 74 it is damaged.")

  @Argument(help: "A backup, or a store; without it that of the hub.")
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
    abstract: "Put the hub's store back to a backup; a running hub goes on with it.",
    discussion: """
      What the store holds now is kept beside it, under a name with '.before-'. The hub begins a new epoch: peers take
      over what the backup has, and bring back nothing of what came after it. Writes that wait are sent again.
      """)

  @Argument(help: "A file that 'bindhub backup' made.")
  var file: String

  @OptionGroup var kept: KeptStore

  @Option(help: "Milliseconds to wait for a running hub.")
  var timeout = 30_000

  func run() throws {
    let (path, file) = (kept.path(), absolutePath(file))
    do throws(StoreError) {
      let found = try SQLiteStore.check(path: file)
      do throws(StoreError) {
        let aside = try SQLiteStore.restore(backup: file, to: path)
        print("\(path) is as \(file): \(words(found))")
        if let aside { print("What was there is kept:  \(aside)") }
      } catch {
        guard error.kind == .inUse else { throw error }
        try AdminRequest.restore(file).leave(at: path)
        waitForRequest(at: path, timeoutMilliseconds: timeout)
        print("\(path) is as \(file): \(words(found))")
        print("The hub goes on with it. What was there is kept:  \(path).before-*")
      }
    } catch {
      fail(error.description, error.exitCode)
    }
  }
}

/// Recreates a damaged or deleted store.
struct Recover: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a damaged or deleted store anew as the same log, and have peers bring back what they hold.",
    discussion: """
      Run it while no hub has the store, then start the hub: it begins a later epoch and asks every peer that comes for
      what it lacks. With a backup it goes on from there. What is at the path now is kept beside it, under a name with
      '.before-'. To go back to a backup on purpose, with nothing brought back:  bindhub restore BACKUP
      """)

  @Argument(help: "A file that 'bindhub backup' made; without it the store begins empty.")
  var backup: String?

  @OptionGroup var kept: KeptStore

  @Option(
    name: .customLong("log"), help: "Which log it is, as 'bindhub status' prints it; only where nothing else tells.")
  var logID: String?

  func run() throws {
    let path = kept.pathOfLost()
    let given = logID.map { text in
      guard let number = UInt64(text, radix: 16), number > 0 else {
        fail("--log takes what 'bindhub status' prints", 64)
      }
      return number
    }
    let limit = ContinuousClock.now + .seconds(2)
    while true {
      do throws(StoreError) {
        let done = try SQLiteStore.recover(path, backup: backup.map { absolutePath($0) }, logID: given)
        print("\(path) is log \(String(done.logID, radix: 16)) again, \(backup.map { "as \($0)" } ?? "empty")")
        if let aside = done.aside { print("What was there is kept:  \(aside)") }
        print("Start the hub, and peers bring back what they hold:  bindhub serve")
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
    abstract: "Have the hub fold its store's log and give unused room back to the disk; it goes on meanwhile.",
    discussion: "A hub does this by itself in small steps; this has it do all of it now.")

  @OptionGroup var kept: KeptStore

  @Option(help: "Milliseconds to wait.")
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
private func waitForRequest(at path: String, timeoutMilliseconds: Int) -> String {
  let limit = ContinuousClock.now + .milliseconds(timeoutMilliseconds)
  while ContinuousClock.now < limit {
    switch AdminRequest.result(at: path) {
    case .fulfilled(let done): return done
    case .refused(let reason): fail("The hub refused: \(reason)", 74)
    case .waiting, .underWay: Thread.sleep(forTimeInterval: 0.05)
    }
  }
  if case .underWay(let progress) = AdminRequest.result(at: path) {
    fail("The hub is still at it after \(timeoutMilliseconds) ms, and goes on: \(progress).", 75)
  }
  AdminRequest.withdraw(at: path)
  fail("The hub that has \(path) open did nothing for \(timeoutMilliseconds) ms; nothing was changed.", 75)
}

private func words(_ check: StoreCheck) -> String {
  "\(check.models) models, \(check.fields) fields, \(check.records) records"
}

private func printReport(_ check: StoreCheck, of path: String, json: Bool) {
  guard json else { return print("\(path)  \(words(check)), \(check.bytes) bytes: all in order") }
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
