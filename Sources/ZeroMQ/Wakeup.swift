import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Wakes a thread that waits in a ``Poller``, from any thread.
///
/// Several signals before one ``clear()`` count as one. A signal is a system call, so the writer of a mailbox
/// should signal only when the mailbox was empty.
package final class Wakeup: Sendable {
  /// Becomes readable after ``signal()``. A ``Poller`` waits for it.
  package let fileDescriptor: Int32
  private let writeDescriptor: Int32

  /// Opens the descriptors.
  ///
  /// - Throws: `EMFILE`, `ENFILE`.
  package init() throws(ZeroMQError) {
    var reading: Int32 = -1
    var writing: Int32 = -1
    guard czmq_wakeup_open(&reading, &writing) == 0 else { throw .last("eventfd") }
    fileDescriptor = reading
    writeDescriptor = writing
  }

  deinit {
    close(fileDescriptor)
    if writeDescriptor != fileDescriptor { close(writeDescriptor) }
  }

  /// Wakes the waiting thread. Callable from any thread; never waits. When the pipe is full, the waiting thread is
  /// awake anyway.
  package func signal() {
    var one: UInt64 = 1
    while write(writeDescriptor, &one, MemoryLayout<UInt64>.size) < 0, zmq_errno() == ErrorName.interrupted {}
  }

  /// Consumes all signals so far. Call it before looking at what the other thread left, or a later signal can be
  /// missed.
  package func clear() {
    var buffer: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    let room = fileDescriptor == writeDescriptor ? MemoryLayout<UInt64>.size : MemoryLayout.size(ofValue: buffer)
    while true {
      let count = read(fileDescriptor, &buffer, room)
      // An eventfd is empty after one read; a pipe is read until it is empty.
      if count < 0 ? zmq_errno() != ErrorName.interrupted : count < room || writeDescriptor == fileDescriptor { return }
    }
  }
}
