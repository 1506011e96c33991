import CZMQ
import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// One named thread for a poll loop. Sockets are made inside its body, live there and close there.
///
/// The thread runs until its body returns, even without references to this object. End the body by a flag and a
/// ``Wakeup``, or by ``Context/shutdown()``.
package final class SocketThread: Sendable {
  /// The name of the thread.
  package let name: String
  private let running: DispatchGroup

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: shown by debuggers and `top -H`, which have room for the first 15 bytes only.
  ///   - body: runs once; its sockets, pollers and messages are closed when it returns.
  /// - Throws: `EAGAIN` when the system has no thread left.
  package init(name: String, body: @escaping @Sendable () -> Void) throws(ZeroMQError) {
    self.name = name
    let running = DispatchGroup()
    self.running = running
    running.enter()
    let start = Unmanaged.passRetained(ThreadStart(name: name, running: running, body: body))
    let code = spawnDetachedThread(start.toOpaque())
    if code != 0 {
      start.release()
      running.leave()
      throw ZeroMQError(code: code, call: "pthread_create", subject: name)
    }
  }

  /// Waits until the body has returned. Callable from any thread but its own, any number of times.
  ///
  /// - Parameter timeoutMilliseconds: negative: no limit.
  /// - Returns: false if the body still runs after the timeout.
  package func join(timeoutMilliseconds: Int) -> Bool {
    let deadline: DispatchTime = timeoutMilliseconds < 0 ? .distantFuture : .now() + .milliseconds(timeoutMilliseconds)
    return running.wait(timeout: deadline) == .success
  }
}

/// The argument of the new thread.
private final class ThreadStart: Sendable {
  let name: String
  let running: DispatchGroup
  let body: @Sendable () -> Void

  init(name: String, running: DispatchGroup, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.running = running
    self.body = body
  }
}

/// A free function that belongs to no actor. A closure written inside an actor's isolation would stop the process
/// when run on a thread that is not that actor's.
private func runThread(_ argument: UnsafeMutableRawPointer) {
  let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
  czmq_name_this_thread(start.name)
  start.body()
  start.running.leave()
}

private func spawnDetachedThread(_ argument: UnsafeMutableRawPointer) -> Int32 {
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  defer { pthread_attr_destroy(&attributes) }
  pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  #if canImport(Darwin)
    var thread: pthread_t?
    return pthread_create(
      &thread, &attributes,
      { argument in
        runThread(argument)
        return nil
      }, argument)
  #else
    var thread = pthread_t()
    return pthread_create(
      &thread, &attributes,
      { argument in
        if let argument { runThread(argument) }
        return nil
      }, argument)
  #endif
}
