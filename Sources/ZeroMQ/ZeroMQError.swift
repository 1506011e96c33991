import CZMQ

/// What a call into libzmq, or a system call beside it, refused to do.
///
/// Ordinary outcomes (nothing to read, a full queue, a peer that is gone) are values, not errors:
/// see ``SendOutcome`` and ``Socket/receive(into:)``.
public struct ZeroMQError: Error, Hashable, Sendable {
  /// The `errno` number, libzmq's own numbers included.
  public let code: Int32
  /// The function that failed, as in `zmq_bind`.
  public let call: String
  /// What it was about: an endpoint, an option, a path. Empty when there is nothing to name.
  public let subject: String

  public init(code: Int32, call: String, subject: String = "") {
    self.code = code
    self.call = call
    self.subject = subject
  }

  /// The symbolic name of the number, as in `EADDRINUSE`; `E` and the number where it has none here.
  public var name: String { ErrorName.of(code) }

  /// The library's own words for the number.
  public var message: String { String(cString: zmq_strerror(code)) }

  /// What to do about it, where experience knows.
  public var hint: String? { ErrorHint.of(code) }

  /// Whether the context was shut down: the normal end of a socket thread.
  public var isShutdown: Bool { code == ErrorName.contextTerminated }

  /// The error of the call that has just failed on this thread; to be made before anything else can touch `errno`.
  static func last(_ call: String, _ subject: String = "") -> ZeroMQError {
    let code = zmq_errno()
    return ZeroMQError(code: code, call: call, subject: subject)
  }
}

extension ZeroMQError: CustomStringConvertible {
  /// One sentence or two: `zmq_bind tcp://127.0.0.1:80: Permission denied (EACCES). Choose …`.
  public var description: String {
    let operation = subject.isEmpty ? call : "\(call) \(subject)"
    let cure = hint.map { ". \($0)" } ?? ""
    return "\(operation): \(message) (\(name))\(cure)"
  }

  /// The same without a full stop at its end, for a text that goes on with one.
  public var clause: String { description.hasSuffix(".") ? String(description.dropLast()) : description }
}

/// Calls again for as long as a signal interrupted it; throws what else goes wrong.
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
