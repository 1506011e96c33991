import Foundation
import Testing

@Suite("Recovery of a lost store from peers", .serialized)
struct RecoverTests {
  private let bench: Bench
  private let fields = (0...7).map { "f\($0)" }

  init() throws { bench = try Bench() }

  private var store: String { bench.folder.appendingPathComponent("hub.sock.db").path }
  private var copy: String { bench.folder.appendingPathComponent("copy.db").path }

  private func bindhub(_ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program("bindhub"), arguments, hub: bench.hub)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  private func serve(_ store: String? = nil) throws -> RunningProcess {
    try RunningProcess(
      Bench.program("bindhub"),
      ["serve", "--listen", bench.hub, "--durability", "disk", "--log", "error"]
        + (store.map { ["--store", $0] } ?? []))
  }

  /// Returns a hub with f0 to f7, of which the backup has f0 to f2, and a peer that holds all.
  private func filled() throws -> (hub: RunningProcess, watcher: RunningProcess) {
    let hub = try bench.startHub(["--durability", "disk"])
    for field in fields {
      #expect(try bench.run("set", "m.\(field)=\"here\"").code == 0)
      if field == "f2" { #expect(try bindhub("backup", copy).code == 0) }
    }
    let watcher = try bench.start("watch", "m", "--json", "--wait-for-hub")
    try #require(watcher.line { $0.contains("f7") } != nil, "\(watcher.output)")
    return (hub, watcher)
  }

  private func remove() { for end in ["", "-wal", "-shm"] { unlink(store + end) } }

  /// Waits until the hub has all fields again.
  private func expectAllBack() throws {
    let end = Date(timeIntervalSinceNow: 20)
    var output = ""
    repeat {
      output = try bench.run("get", "m").output
    } while !fields.allSatisfy({ output.contains("m.\($0) = ") }) && Date() < end
    for field in fields { #expect(output.contains("m.\(field) = \"here\""), "\(output)") }
  }

  @Test("a damaged store is recovered with or without a backup, and peers restore the rest", arguments: [true, false])
  func damaged(hasBackup: Bool) throws {
    let (hub, watcher) = try filled()
    hub.send(SIGKILL)
    _ = hub.end()
    for end in ["-wal", "-shm"] { unlink(store + end) }
    try Data().write(to: URL(fileURLWithPath: store))
    let refused = try serve()
    #expect(refused.end() == 74)
    #expect(refused.line { $0.contains("bindhub recover --store \(store)") } != nil, "\(refused.output)")
    let recovered = try hasBackup ? bindhub("recover", copy, "--for", "3s") : bindhub("recover", "--for", "3s")
    #expect(recovered.code == 0, "\(recovered.output)")
    let again = try bench.startHub()
    try expectAllBack()
    withExtendedLifetime((again, watcher)) {}
  }

  @Test("a deleted store is not recreated: `bindhub recover` continues its log, and peers bring back all")
  func deleted() throws {
    let (hub, watcher) = try filled()
    hub.send(SIGKILL)
    _ = hub.end()
    remove()
    let refused = try serve()
    #expect(refused.end() == 74)
    #expect(refused.line { $0.contains("bindhub recover --store \(store)") } != nil, "\(refused.output)")
    #expect(refused.line { $0.contains("rm \(store).log-id") } != nil, "\(refused.output)")
    let recovered = try bindhub("recover", "--store", store, "--for", "3s")
    #expect(recovered.code == 0, "\(recovered.output)")
    let again = try bench.startHub()
    try expectAllBack()
    withExtendedLifetime((again, watcher)) {}
  }

  @Test(
    "a store deleted under a running hub ends it with 74 and a remedy, even when idle",
    arguments: [true, false])
  func deletedUnder(isIdle: Bool) throws {
    let (hub, watcher) = try filled()
    let before = ContinuousClock.now
    remove()
    if !isIdle { #expect(try bench.run("set", "m.f8=1", "--timeout", "2s").code != 0) }
    #expect(hub.end() == 74)
    // The hub checks several times a second; this bound only distinguishes that from never.
    #expect(ContinuousClock.now - before < .seconds(20))
    #expect(hub.line { $0.contains("was deleted") && $0.contains("bindhub recover --store \(store)") } != nil)
    #expect(try bindhub("recover", "--for", "3s").code == 0)
    let again = try bench.startHub()
    try expectAllBack()
    withExtendedLifetime((again, watcher)) {}
  }

  @Test("`bindhub recover` leaves an intact store, or one that a hub has open, unchanged")
  func inOrder() throws {
    let hub = try bench.startHub()
    try bench.run("set", "m.f0=1")
    let refused = try bindhub("recover")
    #expect(refused.code == 73)
    #expect(refused.output.contains("process \(hub.pid)"))
    hub.send(SIGKILL)
    _ = hub.end()
    let healthy = try bindhub("recover")
    #expect(healthy.code == 73)
    #expect(healthy.output.contains("is intact"))
  }

  @Test("a second hub is locked out by the store's file itself, under another name or without the lock file")
  func locks() throws {
    let hub = try bench.startHub()
    try bench.run("set", "m.f0=1")
    let other = bench.folder.appendingPathComponent("other.db").path
    #expect(link(store, other) == 0)
    unlink(store + ".lock")
    for path in [other, store] {
      let second = try RunningProcess(
        Bench.program("bindhub"),
        ["serve", "--listen", "ipc://\(bench.folder.path)/other.sock", "--store", path, "--log", "error"])
      #expect(second.end() == 73)
      #expect(second.line { $0.contains("in use by process \(hub.pid)") } != nil, "\(second.output)")
    }
    #expect(try bench.run("set", "m.f1=1").code == 0)
  }

  @Test("HOME determines where the user's store is")
  func home() throws {
    let home = bench.folder.appendingPathComponent("home").path
    let command =
      "unset XDG_DATA_HOME; export HOME=\(home) XDG_RUNTIME_DIR=\(bench.folder.path); "
      + "exec \(Bench.program("bindhub")) serve --exit-with-stdin --log error"
    let hub = try RunningProcess("/bin/sh", ["-c", command])
    try #require(hub.line { $0.hasPrefix("listening") } != nil, "\(hub.output)")
    #expect(FileManager.default.fileExists(atPath: home + "/.local/share/bindhub/hub.db"))
  }
}
