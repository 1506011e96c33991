import Foundation
import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Endpoint locks")
struct EndpointLockTests {
  let directory: TemporaryDirectory
  var path: String { directory.path + "/hub.sock" }

  init() throws { directory = try TemporaryDirectory() }

  func refusal(_ path: String) -> EndpointLockError? {
    do throws(EndpointLockError) {
      _ = try EndpointLock.acquire(path)
      return nil
    } catch { return error }
  }

  @Test("a second holder is refused with the process id of the first")
  func heldHere() throws {
    let lock = try EndpointLock.acquire(path)
    #expect(lock.path == path + ".lock")
    let error = try #require(refusal(path))
    #expect(error == .held(path: path, byProcess: getpid()))
    #expect(error.description.contains("in use by process \(getpid())"))
    #expect(refusal(path + "2") == nil)
    lock.release()
    #expect(refusal(path) == nil)
  }

  @Test("another process is refused with the id of this one")
  func heldByAnotherProcess() async throws {
    let lock = try EndpointLock.acquire(path)
    let path = path
    let own = getpid()
    await #expect(processExitsWith: .success) { [path = path as String, own = own as Int32] in
      do throws(EndpointLockError) {
        _ = try EndpointLock.acquire(path)
        Issue.record("acquired twice")
      } catch { #expect(error == .held(path: path, byProcess: own)) }
    }
    #expect(lock.path == path + ".lock")
  }

  @Test("the lock file of a killed process is taken over")
  func holderWasKilled() async throws {
    let path = path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let lock = try EndpointLock.acquire(path)
      kill(getpid(), SIGKILL)
      lock.release()
    }
    let left = try String(contentsOfFile: path + ".lock", encoding: .utf8)
    #expect(Int32(left.dropLast()) != nil)
    #expect(left != "\(getpid())\n")
    let lock = try EndpointLock.acquire(path)
    #expect(try String(contentsOfFile: lock.path, encoding: .utf8) == "\(getpid())\n")
  }

  @Test("releasing a lock removes its file, also at the end of the scope")
  func release() throws {
    do {
      let lock = try EndpointLock.acquire(path)
      #expect(access(lock.path, F_OK) == 0)
    }
    #expect(access(path + ".lock", F_OK) != 0)
  }

  @Test("releasing a lock removes the socket file that libzmq left, and no other file")
  func socketFile() throws {
    let context = try Context()
    do {
      let lock = try EndpointLock.acquire(path)
      do {
        let router = try Socket.listening(.router, in: context, at: "ipc://\(path)")
        #expect(try router.lastEndpoint() == "ipc://\(path)")
      }
      #expect(access(path, F_OK) == 0)
      lock.release()
    }
    #expect(access(path, F_OK) != 0)
    try "mine".write(toFile: path, atomically: true, encoding: .utf8)
    try EndpointLock.acquire(path).release()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
  }

  @Test("a lock whose file was replaced leaves the newer file in place")
  func replacedFile() throws {
    let old = try EndpointLock.acquire(path)
    #expect(unlink(path + ".lock") == 0)
    let new = try EndpointLock.acquire(path)
    old.release()
    #expect(access(new.path, F_OK) == 0)
    #expect(refusal(path) == .held(path: path, byProcess: getpid()))
  }

  @Test("a missing directory and a symbolic link in place of the file are refused by name")
  func unavailable() throws {
    guard case .unavailable(let missing) = refusal(directory.path + "/none/hub.sock") else {
      Issue.record("acquired in a missing directory")
      return
    }
    #expect(missing.name == "ENOENT")
    #expect(symlink("/etc/passwd", path + ".lock") == 0)
    guard case .unavailable(let linked) = refusal(path) else {
      Issue.record("followed a link")
      return
    }
    #expect(linked.name == "ELOOP")
    #expect(linked.subject == path + ".lock")
  }

  @Test("a held lock is refused whatever its file contains")
  func emptyFile() throws {
    let lock = try EndpointLock.acquire(path)
    for text in ["", "garbage", "12 34"] {
      try text.write(toFile: "\(lock.path)", atomically: false, encoding: .utf8)
      #expect(refusal(path) == .held(path: path, byProcess: nil))
    }
    #expect(refusal(path)?.description.contains("another process") == true)
  }

  @Test("contending threads never hold the lock at the same time")
  func contention() throws {
    let holders = Shared(0)
    let turns = Shared(0)
    let path = path
    let threads = try (0..<4).map { index in
      try SocketThread(name: "contender \(index)") {
        for _ in 0..<2_000 {
          guard let lock = try? EndpointLock.acquire(path) else { continue }
          #expect(
            holders.with {
              $0 += 1
              return $0
            } == 1)
          turns.with { $0 += 1 }
          holders.with { $0 -= 1 }
          lock.release()
        }
      }
    }
    for thread in threads { #expect(thread.join(timeoutMilliseconds: 3 * timeoutMilliseconds)) }
    #expect(turns.current > 0)
  }
}
