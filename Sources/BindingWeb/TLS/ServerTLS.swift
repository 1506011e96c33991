import BindingProtocol
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// The certificate of a gateway that encrypts its connections itself. All members may be called from any thread.
final class ServerTLS: Sendable {
  private struct State: Sendable {
    var pair: ServerPair
    /// Why the files were not taken when they were last read.
    var problem: String?
  }
  private let files: WebCertificate
  private let state: NIOLockedValueBox<State>

  /// Reads the files.
  init(_ files: WebCertificate) throws(WebError) {
    self.files = files
    state = NIOLockedValueBox(State(pair: try ServerPair(files)))
  }

  private var pair: ServerPair { state.withLockedValue { $0.pair } }

  /// Reads the files again, for new connections. The pair of before stays if they are wrong.
  func reload() throws(WebError) {
    do throws(WebError) {
      let pair = try ServerPair(files)
      state.withLockedValue { $0 = State(pair: pair) }
    } catch {
      state.withLockedValue { $0.problem = error.description }
      throw error
    }
  }

  // MARK: Names

  /// Whether the certificate is for the host of this `Host`.
  func covers(_ authority: String, port: Int) -> Bool {
    pair.names.contains { name in
      let own = WebOrigin.authority("\(name):\(port)", isSecure: true)
      guard own.hasPrefix("*") else { return own == authority }
      return authority.drop { $0 != "." } == own.dropFirst() && !authority.hasPrefix(".")
    }
  }

  /// The host to print for an address on this one: itself if the certificate is for it, else the first that it is for.
  func printedHost(for host: String) -> String? {
    let names = pair.names
    return names.contains(host) ? host : names.first { !$0.hasPrefix("*") }
  }

  // MARK: Problems

  /// What is wrong with the certificate that is in use, in a sentence with the remedy; nil: nothing.
  func problem(at now: Int64) -> String? {
    let pair = pair
    let problem =
      pair.term.problem(at: now)
      ?? (pair.names.isEmpty
        ? "it names no host, and browsers refuse it: make one with subjectAltName, and send the hub SIGHUP" : nil)
    return problem.map { "The certificate \(files.certificatePath): \($0)" }
  }

  /// Tells of a problem now, and each day for as long as it lasts.
  func watch(on loop: any EventLoop, _ log: Logger) {
    loop.scheduleRepeatedTask(initialDelay: .zero, delay: .hours(24)) { _ in
      if let problem = self.problem(at: WebEntry.now) { log.warning("\(problem)") }
    }
  }

  /// For the gateway's status.
  func report(at now: Int64) -> JSON {
    let state = state.withLockedValue { $0 }
    return .object([
      .init("names", .array(state.pair.names.map { .string($0) })), .init("from", .integer(state.pair.term.from)),
      .init("until", .integer(state.pair.term.until)),
      .init("problem", (problem(at: now) ?? state.problem).map { .string($0) } ?? .null),
    ])
  }

  /// When the certificate expires, in seconds since 1970.
  var until: Int64 { pair.term.until }

  // MARK: Connections

  /// The encryption of a new connection, as the first to get its bytes.
  func add(to pipeline: ChannelPipeline.SynchronousOperations) throws { try pair.add(to: pipeline) }
}
