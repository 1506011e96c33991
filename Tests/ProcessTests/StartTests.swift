import Foundation
import Testing

@Suite("Starting and ending", .serialized)
struct StartTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func serve(_ arguments: String...) throws -> RunningProcess {
    try RunningProcess(Bench.program("bindhub"), ["serve", "--exit-with-stdin", "--log", "error"] + arguments)
  }

  @Test("the socket file of a dead hub is taken over")
  func takesOver() throws {
    let first = try bench.startHub()
    first.send(SIGKILL)
    _ = first.end()
    #expect(FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent("hub.sock").path))
    let second = try bench.startHub()
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    withExtendedLifetime(second) {}
  }

  @Test("a busy tcp port exits 73 and is named with a remedy")
  func busyPort() throws {
    let first = try serve("--listen", "tcp://127.0.0.1:0")
    let line = try #require(first.line { $0.hasPrefix("listening") })
    let second = try serve("--listen", String(line.dropFirst("listening ".count)))
    #expect(second.end() == 73)
    #expect(second.line { $0.contains("listen elsewhere") } != nil, "\(second.output)")
  }

  @Test("a directory that cannot be made exits 73 and is named")
  func noDirectory() throws {
    let file = bench.folder.appendingPathComponent("file")
    try Data().write(to: file)
    let hub = try serve("--listen", "ipc://\(file.path)/deeper/hub.sock")
    #expect(hub.end() == 73)
    #expect(hub.line { $0.contains("\(file.path)/deeper") } != nil, "\(hub.output)")
  }

  @Test("a directory that others can write to exits 73 and is refused")
  func openDirectory() throws {
    let open = bench.folder.appendingPathComponent("open").path
    try FileManager.default.createDirectory(
      atPath: open, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
    chmod(open, 0o777)
    let hub = try serve("--listen", "ipc://\(open)/hub.sock")
    #expect(hub.end() == 73)
    #expect(hub.line { $0.contains("chmod go-w") } != nil, "\(hub.output)")
  }

  @Test("peers detect that the hub goes down and find the next one")
  func goesDown() throws {
    let first = try bench.startHub()
    try bench.run("set", "lamp.level=0.5")
    let watcher = try bench.start("watch", "lamp", "--json", "--wait-for-hub")
    try #require(watcher.line { $0.contains("0.5") } != nil)
    first.send(SIGTERM)
    #expect(first.end() == 0)
    let second = try bench.startHub()
    #expect(try bench.run("set", "lamp.level=0.75", "--timeout", "20s").code == 0)
    #expect(watcher.line { $0.contains("0.75") } != nil, "\(watcher.output)")
    withExtendedLifetime(second) {}
  }

  @Test("a value out of the declared range exits 65 before it is sent")
  func declaredRange() throws {
    let hub = try bench.startHub()
    let vitals = try RunningProcess(Bench.program("vitals"), [], hub: bench.hub)
    let end = Date(timeIntervalSinceNow: 20)
    // Until the program has shared its model, `ls` exits nonzero.
    var (isListed, listed) = (false, "")
    while !isListed, Date() < end {
      let (code, output) = try bench.run("ls", "vitals/")
      (isListed, listed) = (code == 0, output)
    }
    let model = try #require(listed.split(separator: "\n").lazy.flatMap { $0.split(separator: " ") }.first).description
    let (code, output) = try bench.run("set", "\(model).interval=-5")
    #expect(code == 65, "\(output)")
    #expect(try bench.run("set", "\(model).interval=word").code == 65)
    withExtendedLifetime((hub, vitals)) {}
  }
}
