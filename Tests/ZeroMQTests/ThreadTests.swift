import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Socket threads")
struct ThreadTests {
  @Test("a socket thread runs its body under its name, cut to the available length")
  func name() throws {
    for name in ["hub", "a name that is far too long", "ein Fädchen mit ä"] {
      let seen = Shared("")
      let thread = try SocketThread(name: name) {
        seen.current = Self.nameOfThisThread()
      }
      #expect(thread.name == name)
      #expect(thread.join(timeoutMilliseconds: timeoutMilliseconds))
      #expect(Array(seen.current.utf8.prefix(13)) == Array(name.utf8.prefix(13)))
    }
  }

  static func nameOfThisThread() -> String {
    var buffer = [UInt8](repeating: 0, count: 64)
    #if os(Linux)
      let file = open("/proc/thread-self/comm", O_RDONLY)
      defer { close(file) }
      let count = max(0, read(file, &buffer, buffer.count))
      return String(decoding: buffer.prefix(count).prefix { $0 != 10 }, as: UTF8.self)
    #else
      buffer.withUnsafeMutableBytes { bytes in
        guard let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress else { return }
        pthread_getname_np(pthread_self(), start, bytes.count)
      }
      return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    #endif
  }

  @Test("join reports whether the body is done, any number of times")
  func join() throws {
    let bell = try Wakeup()
    let thread = try SocketThread(name: "sleeper") {
      var poller = Poller()
      _ = poller.add(bell)
      _ = try? poller.wait(timeoutMilliseconds: -1)
    }
    #expect(!thread.join(timeoutMilliseconds: 0))
    #expect(!thread.join(timeoutMilliseconds: 20))
    bell.signal()
    #expect(thread.join(timeoutMilliseconds: -1))
    #expect(thread.join(timeoutMilliseconds: 0))
  }

  @Test("a thread's sockets close when its body has returned, so a context for two serves many threads in turn")
  func socketsEndWithTheBody() throws {
    let context = try Context(maximumSockets: 2)
    for turn in 0..<20 {
      let thread = try SocketThread(name: "loop") {
        do {
          let left = try Socket.eventual(.pair, in: context)
          let right = try Socket.eventual(.pair, in: context)
          try left.bind("inproc://turn-\(turn)")
          try right.connect("inproc://turn-\(turn)")
          try left.send([1])
          #expect(try right.receiveBytes() == [1])
        } catch { Issue.record(error) }
      }
      #expect(thread.join(timeoutMilliseconds: 2 * timeoutMilliseconds))
    }
  }

  @Test("a thread keeps running when its object is released")
  func unheld() throws {
    let isDone = Shared(false)
    do { _ = try SocketThread(name: "unheld") { isDone.current = true } }
    try eventually("it ran") { isDone.current }
  }
}
