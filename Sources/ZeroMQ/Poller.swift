import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a socket or a file descriptor is ready for.
public struct Readiness: OptionSet, Hashable, Sendable {
  public let rawValue: Int16
  public init(rawValue: Int16) { self.rawValue = rawValue }

  public static let readable = Readiness(rawValue: Int16(ZMQ_POLLIN))
  public static let writable = Readiness(rawValue: Int16(ZMQ_POLLOUT))
  /// On file descriptors only: an error or the other side is gone.
  public static let failed = Readiness(rawValue: Int16(ZMQ_POLLERR))
}

/// One wait for many sockets and file descriptors. Belongs to the thread of its sockets.
///
/// A socket that closes while it is here is not polled any more. File descriptors must be removed before they close.
public struct Poller: ~Copyable {
  /// Where something is in its poller. Of no use after ``remove(_:)``: it then reads as not ready.
  public struct Slot: Hashable, Sendable {
    let index: Int
    let generation: UInt32
  }

  private struct Entry {
    var core: SocketCore?
    var generation: UInt32
    var isUsed: Bool
  }

  private var items: [zmq_pollitem_t] = []
  private var entries: [Entry] = []

  public init() {}

  public mutating func add(_ socket: borrowing Socket, for interest: Readiness = .readable) -> Slot {
    insert(zmq_pollitem_t(socket: socket.handle, fd: 0, events: interest.rawValue, revents: 0), socket.core)
  }

  public mutating func add(fileDescriptor: Int32, for interest: Readiness = .readable) -> Slot {
    insert(zmq_pollitem_t(socket: nil, fd: fileDescriptor, events: interest.rawValue, revents: 0), nil)
  }

  /// Ready means: call ``Wakeup/clear()``, then look at what the other thread left.
  public mutating func add(_ wakeup: Wakeup) -> Slot { add(fileDescriptor: wakeup.fileDescriptor) }

  /// Ready means: call ``SocketEvents/next()`` until it gives nothing.
  public mutating func add(_ events: borrowing SocketEvents) -> Slot { add(events.reader) }

  /// Changes what is waited for; nothing at all is allowed.
  public mutating func change(_ slot: Slot, to interest: Readiness) {
    guard isCurrent(slot) else { return }
    items[slot.index].events = interest.rawValue
    items[slot.index].revents = 0
  }

  public mutating func remove(_ slot: Slot) {
    guard isCurrent(slot) else { return }
    entries[slot.index] = Entry(core: nil, generation: slot.generation &+ 1, isUsed: false)
    vacate(slot.index)
  }

  /// Waits until something is ready or the time is over; signals do not cut it short.
  ///
  /// - Parameter timeoutMilliseconds: 0: only look; negative: no limit.
  /// - Returns: how many slots are ready.
  /// - Throws: `ETERM` after ``Context/shutdown()``, `EBADF`… for what was closed without being removed.
  public mutating func wait(timeoutMilliseconds: Int) throws(ZeroMQError) -> Int {
    for index in entries.indices {
      if let core = entries[index].core {
        assert(core.isOnItsThread || !core.isOpen)
        if !core.isOpen {
          entries[index].core = nil
          vacate(index)
        }
      }
    }
    return try pollToDeadline(&items, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// What the last ``wait(timeoutMilliseconds:)`` found.
  public func readiness(of slot: Slot) -> Readiness {
    isCurrent(slot) ? Readiness(rawValue: items[slot.index].revents) : []
  }

  public func isReadable(_ slot: Slot) -> Bool { readiness(of: slot).contains(.readable) }

  public func isWritable(_ slot: Slot) -> Bool { readiness(of: slot).contains(.writable) }

  private func isCurrent(_ slot: Slot) -> Bool {
    entries.indices.contains(slot.index) && entries[slot.index].isUsed
      && entries[slot.index].generation == slot.generation
  }

  private mutating func insert(_ item: zmq_pollitem_t, _ core: SocketCore?) -> Slot {
    if let free = entries.firstIndex(where: { !$0.isUsed }) {
      entries[free].core = core
      entries[free].isUsed = true
      items[free] = item
      return Slot(index: free, generation: entries[free].generation)
    }
    entries.append(Entry(core: core, generation: 0, isUsed: true))
    items.append(item)
    return Slot(index: items.count - 1, generation: 0)
  }

  /// A negative file descriptor is passed over by the system's poll.
  private mutating func vacate(_ index: Int) {
    items[index] = zmq_pollitem_t(socket: nil, fd: -1, events: 0, revents: 0)
  }
}

extension Socket {
  /// Waits for this socket alone; see ``Poller/wait(timeoutMilliseconds:)``. For tools and tests.
  public borrowing func wait(for interest: Readiness, timeoutMilliseconds: Int) throws(ZeroMQError) -> Bool {
    assert(isOnItsThread)
    var items = [zmq_pollitem_t(socket: handle, fd: 0, events: interest.rawValue, revents: 0)]
    return try pollToDeadline(&items, timeoutMilliseconds: timeoutMilliseconds) > 0
  }
}

/// Polls again after each signal, for what is left of the time.
private func pollToDeadline(_ items: inout [zmq_pollitem_t], timeoutMilliseconds: Int) throws(ZeroMQError) -> Int {
  let start = timeoutMilliseconds > 0 ? monotonicMilliseconds() : 0
  var left = timeoutMilliseconds
  while true {
    let ready = zmq_poll(&items, Int32(items.count), left)
    if ready >= 0 { return Int(ready) }
    let code = zmq_errno()
    if code != ErrorName.interrupted { throw ZeroMQError(code: code, call: "zmq_poll") }
    if timeoutMilliseconds > 0 { left = max(0, timeoutMilliseconds - (monotonicMilliseconds() - start)) }
  }
}

private func monotonicMilliseconds() -> Int {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int(now.tv_sec) * 1_000 + Int(now.tv_nsec) / 1_000_000
}
