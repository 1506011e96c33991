import ArgumentParser
import BindingPeer
import BindingTerminal
import Dispatch
import Foundation

/// Writes all commits of models into a file, for `play`.
struct Record: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Record every commit of models into a file, until interrupted.",
    discussion: """
      Begins with what the models hold, and goes on with each commit: values byte for byte, writers, versions and \
      times. Each line is passed to the system before the next commit is read, so the file is complete up to the end \
      of this program, whatever ends it. Commits that the hub had coalesced are read from its history; where it does \
      not keep them any more, the file says so.
        bindpeer record robot/ run.history --for 10m
        bindpeer play run.history --speed 10
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "PREFIX/ or MODEL; \"\" for all models.")
  var prefix: String
  @Argument(help: "A new file, or - for standard output.")
  var file: String
  @Flag(help: "Record ephemeral fields too, which exist as long as the peer that wrote them.")
  var ephemeral = false
  @Option(name: .customLong("for"), help: "End after this time, with exit code 0.")
  var span: TimeSpan?

  mutating func run() async throws {
    let address = try Address(prefix)
    guard address.field == nil else { throw Failure(.usage, "record takes whole models; omit .\(address.field ?? "")") }
    let output = try HistoryOutput(file)
    let peer = try await common.connect(patiently: true)
    let (ended, end) = AsyncStream<Void>.makeStream()
    let recorder = Recorder(fillingGaps: common.timeout.duration) { lines in
      if !output.write(lines) { end.finish() }
    }
    recorder.begin(
      .recording(prefix: address.model, hub: peer.status.hub ?? "", log: peer.status.logID ?? 0))
    let ephemeral = ephemeral
    let follow: @Sendable (String) -> Void = { id in
      guard let model = try? peer.model(id) else { return }
      recorder.follow(model, as: id)
      if ephemeral { recorder.follow(model.ephemeral, as: Names.ephemeral(id)) }
    }
    if address.isPrefix {
      recorder.keep(try peer.models(under: address.model, follow))
    } else {
      follow(address.model)
    }
    recorder.keep(peer.observeStatus { if $0.isStopped { end.finish() } })
    if let span {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(span.milliseconds))) { end.finish() }
    }
    for await _ in ended {}
    if let failure = output.failure { throw failure }
    await recorder.finish()
    if let failure = output.failure { throw failure }
    if case .stopped(let reason) = peer.status.phase { throw reason.failure }
    let (commits, models) = recorder.counts
    Terminal.complain("\(counted(commits, models)) in \(file == "-" ? "standard output" : excerpt(file))")
    await peer.close(flush: .zero)
  }
}

/// The file of a history that is being recorded.
final class HistoryOutput: Sendable {
  private let descriptor: Int32
  private let path: String
  private let failed = Protected<Failure?>(nil)

  /// - Throws: `Failure` if the file is there, or cannot be made.
  init(_ path: String) throws(Failure) {
    self.path = path
    if path == "-" {
      descriptor = 1
      return
    }
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let cure = errno == EEXIST ? ". Name a new file" : ""
      throw Failure(.cannotCreate, "\(excerpt(path)) cannot be made: \(String(cString: strerror(errno)))\(cure).")
    }
  }

  deinit { if descriptor != 1 { close(descriptor) } }

  /// Why a line could not be written.
  var failure: Failure? { failed.withLock { $0 } }

  /// Passes the lines to the system. Returns false if it does not take them; then nothing more is written.
  func write(_ lines: [HistoryLine]) -> Bool {
    failed.withLock { failed in
      guard failed == nil else { return false }
      let bytes = lines.flatMap(\.bytes)
      var done = 0
      while done < bytes.count {
        let count = bytes[done...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          failed = Failure(.cannotWrite, "\(excerpt(path)) cannot be written: \(String(cString: strerror(errno))).")
          return false
        }
        done += count
      }
      return true
    }
  }
}
