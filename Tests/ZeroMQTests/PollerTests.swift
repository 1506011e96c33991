import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Polling")
struct PollerTests {
  let context: Context

  init() throws { context = try Context() }

  @Test("a poller reports each socket and each file descriptor separately")
  func readiness() throws {
    let left = try Socket.listening(.pair, in: context, at: "inproc://a")
    let right = try Socket.connected(.pair, in: context, to: "inproc://a")
    let wakeup = try Wakeup()
    var poller = Poller()
    let leftSlot = poller.add(left)
    let rightSlot = poller.add(right, for: [.readable, .writable])
    let wakeupSlot = poller.add(wakeup)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
    #expect(poller.readiness(of: rightSlot) == .writable)
    poller.change(rightSlot, to: .readable)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    try right.send([1])
    wakeup.signal()
    try eventually("both are ready") { try poller.wait(timeoutMilliseconds: timeoutMilliseconds) == 2 }
    #expect(poller.isReadable(leftSlot) == true)
    #expect(poller.isReadable(rightSlot) == false)
    #expect(poller.isWritable(rightSlot) == false)
    #expect(poller.isReadable(wakeupSlot) == true)
    wakeup.clear()
    #expect(try left.receiveBytes() == [1])
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
  }

  @Test("a removed slot is never ready, even when its position is reused")
  func removal() throws {
    let first = try Wakeup()
    let second = try Wakeup()
    var poller = Poller()
    let firstSlot = poller.add(first)
    first.signal()
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
    poller.remove(firstSlot)
    #expect(poller.isReadable(firstSlot) == false)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    let secondSlot = poller.add(second)
    second.signal()
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
    #expect(poller.isReadable(secondSlot) == true)
    #expect(poller.isReadable(firstSlot) == false)
    poller.remove(firstSlot)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
  }

  @Test("a socket closed before its poller is no longer polled")
  func closedSocket() throws {
    let wakeup = try Wakeup()
    var poller = Poller()
    let wakeupSlot = poller.add(wakeup)
    let slot: Poller.Slot
    do {
      let socket = try Socket(.pair, in: context)
      slot = poller.add(socket)
      #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    }
    wakeup.signal()
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
    #expect(poller.isReadable(wakeupSlot) == true)
    #expect(poller.readiness(of: slot) == [])
    poller.remove(slot)
    let other = try Socket(.pair, in: context)
    let otherSlot = poller.add(other)
    #expect(otherSlot != slot)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
  }

  @Test("another thread wakes a poll that has no timeout")
  func wakeup() throws {
    let bell = try Wakeup()
    let rounds = Shared(0)
    let thread = try SocketThread(name: "sleeper") { [context] in
      do {
        let socket = try Socket(.pair, in: context)
        var poller = Poller()
        let slot = poller.add(bell)
        _ = poller.add(socket)
        for _ in 0..<100 {
          _ = try poller.wait(timeoutMilliseconds: -1)
          #expect(poller.isReadable(slot) == true)
          bell.clear()
          rounds.with { $0 += 1 }
        }
      } catch { Issue.record(error) }
    }
    for round in 0..<100 {
      bell.signal()
      try eventually("round \(round)") { rounds.current > round }
    }
    #expect(thread.join(timeoutMilliseconds: timeoutMilliseconds))
  }

  @Test("signals before the wait are not lost, and many count as one")
  func earlySignals() throws {
    let bell = try Wakeup()
    var poller = Poller()
    let slot = poller.add(bell)
    for _ in 0..<100_000 { bell.signal() }
    #expect(try poller.wait(timeoutMilliseconds: -1) == 1)
    #expect(poller.isReadable(slot) == true)
    bell.clear()
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    bell.clear()
  }

  @Test("messages that arrived while the socket was in use are reported without a later one")
  func cameMeanwhile() throws {
    let left = try Socket.listening(.pair, in: context, at: "inproc://b")
    let right = try Socket.connected(.pair, in: context, to: "inproc://b")
    var poller = Poller()
    let slot = poller.add(left)
    for round in 0..<100 {
      try right.send([1])
      try right.send([2])
      // Reading the first message consumes the signal of both.
      try eventually("the first came") { try left.receiveBytes() == [1] }
      #expect(try poller.wait(timeoutMilliseconds: timeoutMilliseconds) == 1, "round \(round)")
      #expect(poller.isReadable(slot) == true)
      #expect(try left.receiveBytes() == [2])
      #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    }
  }

  @Test("an empty poller waits for its timeout")
  func emptyPoller() throws {
    var poller = Poller()
    let start = ContinuousClock.now
    #expect(try poller.wait(timeoutMilliseconds: 30) == 0)
    #expect(ContinuousClock.now - start >= .milliseconds(29))
  }
}

// SAFETY: only the signal handler writes it, on the one thread under test (the suite is serial); it is read when
// that thread's body is done.
nonisolated(unsafe) private var interruptions = 0

/// A free function, since it runs on a thread that belongs to no actor.
private func countInterruption(_: Int32) { interruptions += 1 }

/// Signals concern the whole process, so these tests run one after the other.
@Suite("Interruptions by signals", .serialized)
struct SignalTests {
  let context: Context

  init() throws {
    context = try Context()
    var action = sigaction()
    action.__sigaction_handler.sa_handler = countInterruption
    sigaction(SIGUSR1, &action, nil)
  }

  /// Runs the body on a thread that keeps receiving a signal until the body is done. Returns the number of signals.
  func underFire(shots: Shared<Int> = Shared(0), _ body: @escaping @Sendable () throws -> Void) throws -> Int {
    let target = Shared<pthread_t?>(nil)
    let isDone = Shared(false)
    let hits = Shared(0)
    let mayEnd = try Wakeup()
    let thread = try SocketThread(name: "target") {
      // Threads of a pool, on which tests run, pass on their blocked signals.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGUSR1)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      interruptions = 0
      target.current = pthread_self()
      do { try body() } catch { Issue.record(error) }
      hits.current = interruptions
      isDone.current = true
      var poller = Poller()
      _ = poller.add(mayEnd)
      _ = try? poller.wait(timeoutMilliseconds: -1)
    }
    defer { mayEnd.signal() }
    try eventually("the body is done") {
      // The thread runs until `mayEnd` is signalled, so its handle stays valid for a signal.
      if let target = target.current, pthread_kill(target, SIGUSR1) == 0 { shots.with { $0 += 1 } }
      return isDone.current
    }
    mayEnd.signal()
    #expect(thread.join(timeoutMilliseconds: timeoutMilliseconds))
    return hits.current
  }

  @Test("a poll interrupted by signals keeps its timeout")
  func pollKeepsDeadline() throws {
    let hits = try underFire { [context] in
      let socket = try Socket(.pair, in: context)
      var poller = Poller()
      _ = poller.add(socket)
      let start = ContinuousClock.now
      #expect(try poller.wait(timeoutMilliseconds: 300) == 0)
      #expect(ContinuousClock.now - start >= .milliseconds(299))
    }
    #expect(hits > 5)
  }

  @Test("a blocking send keeps waiting under signals and is sent once there is room")
  func blockedSend() throws {
    // Connecting first would also work, but then the receiver's arrival makes room for more messages.
    let isListening = Shared(false)
    let isStuck = Shared(false)
    let shots = Shared(0)
    let drain = try SocketThread(name: "drain") { [context] in
      do {
        let receiver = try Socket.listening(
          .pair, in: context, [.receiveHighWaterMark(messages: 1)], at: "inproc://slow")
        isListening.current = true
        try eventually("the sender is stuck") { isStuck.current }
        let before = shots.current
        try eventually("the stuck sender is under fire") { shots.current > before + 20 }
        while try receiver.receiveBytes() != [2] {}
      } catch { Issue.record(error) }
    }
    let hits = try underFire(shots: shots) { [context] in
      let sender = try Socket(.pair, in: context)
      try sender.set(.sendHighWaterMark(messages: 1))
      try eventually("there is a receiver") { isListening.current }
      try sender.connect("inproc://slow")
      while try sender.send([1]) == .sent {}
      isStuck.current = true
      #expect(try sender.send([2], []) == .sent)
    }
    #expect(hits > 0)
    #expect(drain.join(timeoutMilliseconds: timeoutMilliseconds))
  }
}
