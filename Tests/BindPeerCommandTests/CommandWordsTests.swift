import BindingProtocol
import BindingTerminal
import Foundation
import Testing

@testable import bindpeer

@Suite("Command line words")
struct CommandWordsTests {
  private let words = CommandWords(
    valued: ["--hub", "--timeout"], flags: ["--json"], habits: ["put": "bindpeer set", "stat": "bindhub status"])

  @Test(
    "common options are accepted before the verb",
    arguments: [
      ("--hub a get lamp", "get --hub a lamp"), ("--hub=a --json get lamp", "get --hub=a --json lamp"),
      ("--hub a get --hub b lamp", "get --hub a --hub b lamp"), ("get --hub a", "get --hub a"), ("--help", "--help"),
      ("--hub", "--hub"), ("--hub a", "--hub a"), ("--wrong a get", "--wrong a get"), ("", ""),
    ])
  func verbFirst(_ typed: String, _ meant: String) {
    #expect(words.verbFirst(typed.split(separator: " ").map(String.init)).joined(separator: " ") == meant)
  }

  @Test(
    "an unknown verb gets a suggestion of the nearest one",
    arguments: [
      ("gt", "bindpeer get"), ("wacth", "bindpeer watch"), ("put", "bindpeer set"), ("stat", "bindhub status"),
      ("desc", "bindpeer describe"), ("xyzzy", nil),
    ] as [(String, String?)])
  func verbs(_ typed: String, _ meant: String?) throws {
    let complaint = try #require(words.complaint([typed, "lamp"], of: BindPeer.self))
    #expect(complaint.contains("Did you mean") == (meant != nil))
    if let meant { #expect(complaint.contains("Did you mean:  \(meant)\n")) }
    #expect(complaint.contains("get set reset"))
  }

  @Test("known verbs, options and help are left to the parser", arguments: ["get", "--version", "-h", "help", "--hub"])
  func others(_ word: String) { #expect(words.complaint([word], of: BindPeer.self) == nil) }

  @Test("a name with one letter wrong, missing, extra or swapped is suggested, and others are not")
  func near() {
    for name in ["lvel", "levle", "leveel", "lavel"] {
      #expect(nearest(to: name, among: ["on", "level", "place"]) == "level")
    }
    #expect(nearest(to: "colour", among: ["on", "level", "place"]) == nil)
    #expect(nearest(to: "on", among: ["on"]) == nil)
  }

  @Test("a missing socket, or one without a listener, is certainly absent; one with a listener is not")
  func absence() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bb-\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("s").path
    let address = try HubAddress("ipc://\(path)")
    #expect(address.isCertainlyAbsent)
    var socketAddress = sockaddr_un()
    socketAddress.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: path.utf8) }
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = withUnsafeBytes(of: socketAddress) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { bind(listener, $0.baseAddress, socklen_t(bytes.count)) }
    }
    #expect(bound == 0)
    #expect(address.isCertainlyAbsent)
    #expect(listen(listener, 1) == 0)
    #expect(!address.isCertainlyAbsent)
    close(listener)
    #expect(address.isCertainlyAbsent)
  }

  @Test("a refusing port is certainly absent; a listening port or a remote name is not")
  func ports() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var socketAddress = sockaddr_in()
    socketAddress.sin_family = sa_family_t(AF_INET)
    socketAddress.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &socketAddress) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        #expect(bind(listener, $0.baseAddress, length) == 0)
        #expect(getsockname(listener, $0.baseAddress, &length) == 0)
      }
    }
    let address = HubAddress(tcp: "127.0.0.1", port: Int(UInt16(bigEndian: socketAddress.sin_port)))
    #expect(address.isCertainlyAbsent)
    #expect(listen(listener, 1) == 0)
    #expect(!address.isCertainlyAbsent)
    #expect(!HubAddress(tcp: "hub.example", port: 1).isCertainlyAbsent)
  }
}

@Suite("Standard streams")
struct StandardStreamsTests {
  @Test(
    "a failed write to a stream returns its error", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func full() {
    let descriptor = open("/dev/full", O_WRONLY)
    defer { close(descriptor) }
    #expect(StandardStreams.write([1, 2, 3], to: descriptor) == ENOSPC)
  }

  @Test("a write to a nonblocking pipe with a slow reader writes everything")
  func slowReader() {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (source, target) = (ends[0], ends[1])
    _ = fcntl(target, F_SETFL, O_NONBLOCK)
    let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let isRead = DispatchSemaphore(value: 0)
    let found = Held()
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while case let count = read(source, &buffer, buffer.count), count > 0 { found.bytes += buffer[..<count] }
      isRead.signal()
    }
    #expect(StandardStreams.write(bytes, to: target) == nil)
    close(target)
    isRead.wait()
    #expect(found.bytes == bytes)
    close(source)
  }

  private final class Held: @unchecked Sendable {  // SAFETY: read only after the thread that fills it has ended
    var bytes: [UInt8] = []
  }

  @Test("a public key that begins with a dash is no option, and an option of its length is no key")
  func dashedKeys() {
    var words = CommandWords(valued: [], flags: [], habits: [:])
    words.keyed = ["admit"]
    let key = "-" + String(repeating: "x", count: 39)
    #expect(
      words.keysLast(["admit", "anna", key, "--role", "guest"]) == ["admit", "anna", "--role", "guest", "--", key])
    let option = "--keys=" + String(repeating: "x", count: 33)
    for unchanged in [
      ["admit", "anna", option], ["admit", "anna", "--", key], ["admit", "-x"], ["revoke", key], [],
    ] {
      #expect(words.keysLast(unchanged) == unchanged)
    }
  }
}
