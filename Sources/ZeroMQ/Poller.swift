import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a socket or a file descriptor is ready for.
package struct Readiness: OptionSet, Hashable, Sendable {
  package let rawValue: Int16
  package init(rawValue: Int16) { self.rawValue = rawValue }

  /// A receive, or a read, would succeed.
  package static let readable = Readiness(rawValue: Int16(ZMQ_POLLIN))
  /// A send, or a write, would succeed.
  package static let writable = Readiness(rawValue: Int16(ZMQ_POLLOUT))
  /// On file descriptors only: an error occurred or the other side is gone.
  package static let failed = Readiness(rawValue: Int16(ZMQ_POLLERR))
}

/// Waits for many sockets and file descriptors together. Belongs to the thread of its sockets.
///
/// A socket that closes while registered is no longer polled. File descriptors must be removed before they close.
///
/// Does what `zmq_poll` does with fewer system calls, since each look at a socket's state costs two. A socket is
/// asked once before the wait, because its own use may have consumed the signal of something new, and after the
/// wait only if it was signalled. Event readers are read to their end by contract, so they are never asked before
/// the wait.
package struct Poller: ~Copyable {
  /// The position of a socket or file descriptor in its poller. After ``remove(_:)`` it reads as not ready.
  package struct Slot: Hashable, Sendable {
    let index: Int
    let generation: UInt32
  }

  private struct Entry {
    /// nil: a plain file descriptor, or an unused slot.
    var core: SocketCore?
    var interest: Readiness = []
    var found: Readiness = []
    /// Its signal is only ever consumed by reading it to its end.
    var isReadToEnd = false
    var generation: UInt32 = 0
    var isUsed = false
  }

  private var signals: [pollfd] = []
  private var entries: [Entry] = []

  /// Makes a poller without sockets.
  package init() {}

  /// Adds a socket, to be polled for `interest`.
  package mutating func add(_ socket: borrowing Socket, for interest: Readiness = .readable) -> Slot {
    // A socket without a descriptor ended with its context; `wait` reports that when it asks the socket.
    insert((try? socket.fileDescriptor()) ?? -1, interest, socket.core)
  }

  /// Adds a file descriptor, to be polled for `interest`.
  package mutating func add(fileDescriptor: Int32, for interest: Readiness = .readable) -> Slot {
    insert(fileDescriptor, interest, nil)
  }

  /// Adds a wakeup. When it is ready, call ``Wakeup/clear()``, then look at what the other thread left.
  package mutating func add(_ wakeup: Wakeup) -> Slot { add(fileDescriptor: wakeup.fileDescriptor) }

  /// Adds the events of a socket. When they are ready, call ``SocketEvents/next()`` until it returns nil; leftover
  /// events are not reported again.
  package mutating func add(_ events: borrowing SocketEvents) -> Slot {
    let slot = add(events.reader)
    entries[slot.index].isReadToEnd = true
    // The first wait reports events that arrived before this call.
    entries[slot.index].found = .readable
    return slot
  }

  /// Changes what the slot is polled for; an empty set is allowed.
  package mutating func change(_ slot: Slot, to interest: Readiness) {
    guard isCurrent(slot) else { return }
    entries[slot.index].interest = interest
    entries[slot.index].found = []
    if entries[slot.index].core == nil { signals[slot.index].events = interest.systemEvents }
  }

  /// Stops polling the slot's socket or file descriptor.
  package mutating func remove(_ slot: Slot) {
    guard isCurrent(slot) else { return }
    entries[slot.index] = Entry(generation: slot.generation &+ 1)
    signals[slot.index].fd = -1
  }

  /// Waits until something is ready or the timeout has passed. Signals do not cut it short.
  ///
  /// - Parameter timeoutMilliseconds: 0: only look; negative: no limit.
  /// - Returns: the number of ready slots.
  /// - Throws: `ETERM` after ``Context/shutdown()``, `EBADF`… for a descriptor that was closed without being
  ///   removed.
  package mutating func wait(timeoutMilliseconds: Int) throws(ZeroMQError) -> Int {
    var ready = 0
    for index in entries.indices {
      guard let core = entries[index].core else { continue }
      assert(core.isOnItsThread || !core.isOpen)
      guard core.isOpen else {
        entries[index].core = nil
        entries[index].found = []
        signals[index].fd = -1
        continue
      }
      if !entries[index].isReadToEnd || entries[index].found != [] { ready += try ask(core, at: index) }
    }
    let start = timeoutMilliseconds > 0 ? monotonicMilliseconds() : 0
    var left = ready > 0 ? 0 : timeoutMilliseconds
    while true {
      ready += try waitForSignals(milliseconds: left)
      if ready > 0 || left == 0 { return ready }
      // A socket was signalled for something that makes it neither readable nor writable.
      if timeoutMilliseconds > 0 { left = max(0, timeoutMilliseconds - (monotonicMilliseconds() - start)) }
    }
  }

  /// What the last ``wait(timeoutMilliseconds:)`` found; empty for a removed slot.
  package func readiness(of slot: Slot) -> Readiness { isCurrent(slot) ? entries[slot.index].found : [] }

  /// Whether the last ``wait(timeoutMilliseconds:)`` found the slot readable.
  package func isReadable(_ slot: Slot) -> Bool { readiness(of: slot).contains(.readable) }

  /// Whether the last ``wait(timeoutMilliseconds:)`` found the slot writable.
  package func isWritable(_ slot: Slot) -> Bool { readiness(of: slot).contains(.writable) }

  /// - Returns: the number of slots that became ready.
  private mutating func waitForSignals(milliseconds: Int) throws(ZeroMQError) -> Int {
    let count = poll(&signals, nfds_t(signals.count), Int32(clamping: milliseconds))
    if count < 0 {
      let code = zmq_errno()
      // The caller computes the remaining time.
      if code == ErrorName.interrupted { return 0 }
      throw ZeroMQError(code: code, call: "poll")
    }
    var ready = 0
    for index in entries.indices {
      let reported = count > 0 ? Readiness(systemEvents: signals[index].revents) : []
      if let core = entries[index].core {
        if reported != [], entries[index].found == [] { ready += try ask(core, at: index) }
      } else {
        entries[index].found = entries[index].isUsed ? reported : []
        if entries[index].found != [] { ready += 1 }
      }
    }
    return ready
  }

  /// Records what a socket is ready for. - Returns: 1 if it is ready for anything, else 0.
  private mutating func ask(_ core: SocketCore, at index: Int) throws(ZeroMQError) -> Int {
    entries[index].found = try core.events().intersection(entries[index].interest)
    return entries[index].found == [] ? 0 : 1
  }

  private func isCurrent(_ slot: Slot) -> Bool {
    entries.indices.contains(slot.index) && entries[slot.index].isUsed
      && entries[slot.index].generation == slot.generation
  }

  private mutating func insert(_ fileDescriptor: Int32, _ interest: Readiness, _ core: SocketCore?) -> Slot {
    // A socket's descriptor becomes readable whatever the socket is ready for.
    let events = core == nil ? interest.systemEvents : Readiness.readable.systemEvents
    let signal = pollfd(fd: fileDescriptor, events: events, revents: 0)
    let free = entries.firstIndex { !$0.isUsed } ?? entries.count
    if free == entries.count {
      entries.append(Entry())
      signals.append(signal)
    }
    entries[free] = Entry(core: core, interest: interest, generation: entries[free].generation, isUsed: true)
    signals[free] = signal
    return Slot(index: free, generation: entries[free].generation)
  }
}

extension Readiness {
  init(systemEvents: Int16) {
    self = []
    if systemEvents & Int16(POLLIN) != 0 { insert(.readable) }
    if systemEvents & Int16(POLLOUT) != 0 { insert(.writable) }
    if systemEvents & ~Int16(POLLIN | POLLOUT) != 0 { insert(.failed) }
  }

  var systemEvents: Int16 {
    (contains(.readable) ? Int16(POLLIN) : 0) | (contains(.writable) ? Int16(POLLOUT) : 0)
  }
}

/// Milliseconds of a clock that never goes back.
package func monotonicMilliseconds() -> Int {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int(now.tv_sec) * 1_000 + Int(now.tv_nsec) / 1_000_000
}
