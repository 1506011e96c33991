import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("A hub as a service of systemd", .serialized)
struct ServiceTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func start(_ variables: [String: String]) throws -> RunningProcess {
    let hub = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--listen", bench.hub, "--log", "error", "--store", "memory"],
      variables: variables)
    try #require(hub.line { $0.hasPrefix("listening") } != nil, "\(hub.output)")
    return hub
  }

  @Test(
    "it tells when it serves, where, when it reads its rights again, and when it ends",
    arguments: ["in a directory", "in none"])
  func life(name: String) throws {
    let path = name == "in none" ? "@bindbus-\(UInt64.random(in: 0 ... .max))" : bench.folder.path + "/notify"
    let manager = try NotifySocket(path)
    let hub = try start(["NOTIFY_SOCKET": path])
    #expect(manager.next() == ["READY=1", "STATUS=listening at \(bench.hub)"])
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    hub.send(SIGHUP)
    let reloading = try #require(manager.next())
    #expect(reloading.first == "RELOADING=1" && reloading.last?.hasPrefix("MONOTONIC_USEC=") == true)
    #expect(manager.next()?.first == "READY=1")
    hub.send(SIGTERM)
    #expect(manager.next() == ["STOPPING=1", "STATUS=stopping"])
    #expect(hub.end() == 0)
  }

  @Test("it feeds a watchdog while its own thread works, and only then")
  func watchdog() throws {
    let path = bench.folder.path + "/notify"
    let manager = try NotifySocket(path)
    let hub = try start(["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "60000"])
    #expect(manager.next()?.first == "READY=1")
    for _ in 0..<5 { #expect(manager.next() == ["WATCHDOG=1"]) }
    hub.send(SIGSTOP)
    while manager.next(milliseconds: 300) != nil {}
    hub.send(SIGCONT)
    #expect(manager.next() == ["WATCHDOG=1"])
    hub.send(SIGKILL)
  }

  @Test(
    "what no manager could mean is ignored",
    arguments: [
      ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": ""],
      ["NOTIFY_SOCKET": "/nowhere/" + String(repeating: "n", count: 200)],
      ["NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "-1"],
      ["NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "99999999999999999999"],
    ])
  func badInput(variables: [String: String]) throws {
    let hub = try start(variables)
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    hub.send(SIGTERM)
    #expect(hub.end() == 0)
  }

  @Test("a watchdog that is meant for another process is not fed")
  func otherProcess() throws {
    let path = bench.folder.path + "/notify"
    let manager = try NotifySocket(path)
    let hub = try start(["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "3000", "WATCHDOG_PID": "1"])
    #expect(manager.next()?.first == "READY=1")
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    hub.send(SIGTERM)
    #expect(manager.next()?.first == "STOPPING=1")
    #expect(hub.end() == 0)
  }
}

/// The socket of a service manager.
private final class NotifySocket {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let descriptor = descriptor
    let code = withUnsafeBytes(of: address) { address in
      address.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, length) }
    }
    try #require(code == 0, "\(path): \(errno)")
  }

  deinit { close(descriptor) }

  /// The lines of the next message; nil if none arrives in time.
  func next(milliseconds: Int32 = 20_000) -> [String]? {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, milliseconds) == 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).components(separatedBy: "\n")
  }
}
