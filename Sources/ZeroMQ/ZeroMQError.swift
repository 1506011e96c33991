import CZMQ

/// The failure of a call into libzmq, or of a system call used with it.
///
/// Ordinary outcomes (nothing to read, a full queue, a disconnected peer) are values, not errors: see
/// ``SendOutcome`` and ``Socket/receive(into:)``.
package struct ZeroMQError: Error, Hashable, Sendable {
  /// The `errno` number, libzmq's own numbers included.
  package let code: Int32
  /// The function that failed, as in `zmq_bind`.
  package let call: String
  /// The endpoint, option or path that the call was about; empty if there is none.
  package let subject: String

  /// Makes an error from its parts.
  package init(code: Int32, call: String, subject: String = "") {
    self.code = code
    self.call = call
    self.subject = subject
  }

  /// The symbolic name of the number, as in `EADDRINUSE`; `E` and the number if the name is not known here.
  package var name: String { ErrorName.of(code) }

  /// The library's own text for the number.
  package var message: String { String(cString: zmq_strerror(code)) }

  /// The remedy, if one is known.
  package var hint: String? { ErrorHint.of(code) }

  /// Whether the context was shut down: the normal end of a socket thread.
  package var isShutdown: Bool { code == ErrorName.contextTerminated }

  /// The error of the call that has just failed on this thread; make it before another call can change `errno`.
  static func last(_ call: String, _ subject: String = "") -> ZeroMQError {
    let code = zmq_errno()
    return ZeroMQError(code: code, call: call, subject: subject)
  }
}

extension ZeroMQError: CustomStringConvertible {
  /// One or two sentences: `zmq_bind tcp://127.0.0.1:80: Permission denied (EACCES). Choose …`.
  package var description: String {
    let operation = subject.isEmpty ? call : "\(call) \(subject)"
    let cure = hint.map { ". \($0)" } ?? ""
    return "\(operation): \(message) (\(name))\(cure)"
  }

  /// The description without its final full stop, to be embedded in a longer sentence.
  package var clause: String { description.hasSuffix(".") ? String(description.dropLast()) : description }
}

/// Repeats the call while signals interrupt it; throws other errors.
@discardableResult
func retryingInterruptions(
  _ call: String, _ subject: @autoclosure () -> String = "", _ body: () -> Int32
) throws(ZeroMQError) -> Int32 {
  while true {
    let result = body()
    if result >= 0 { return result }
    let code = zmq_errno()
    if code != ErrorName.interrupted { throw ZeroMQError(code: code, call: call, subject: subject()) }
  }
}
