import Foundation
import Testing

/// The output of a child, line by line, filled by the thread that reads it.
private final class PrintedLines: @unchecked Sendable {  // SAFETY: mutable state is touched only under `condition`
  private let condition = NSCondition()
  private var lines: [String] = []
  private var partial = ""
  private var isComplete = false

  func append(_ data: Data) {
    condition.lock()
    defer { condition.unlock() }
    isComplete = data.isEmpty
    partial += String(decoding: data, as: UTF8.self)
    var parts = partial.components(separatedBy: "\n")
    partial = parts.removeLast()
    lines += parts
    condition.broadcast()
  }

  var all: [String] {
    condition.lock()
    defer { condition.unlock() }
    return lines
  }

  /// Waits for a line; nil if none arrives within 20 s or the output has ended.
  func first(where matches: (String) -> Bool) -> String? {
    condition.lock()
    defer { condition.unlock() }
    let end = Date(timeIntervalSinceNow: 20)
    while true {
      if let line = lines.first(where: matches) { return line }
      if isComplete || !condition.wait(until: end) { return nil }
    }
  }

  func waitUntilComplete() {
    condition.lock()
    defer { condition.unlock() }
    let end = Date(timeIntervalSinceNow: 20)
    while !isComplete, condition.wait(until: end) {}
  }
}

/// A child process whose output can be awaited line by line. It is killed with the test that holds it.
final class RunningProcess {
  private let process = Process()
  private let input = Pipe()
  private let printed = PrintedLines()

  /// - Parameters:
  ///   - folder: the folder for its temporary files; nil for the default.
  ///   - variables: set in its environment.
  init(
    _ program: String, _ arguments: [String], hub: String? = nil, folder: URL? = nil, variables: [String: String] = [:]
  ) throws {
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    if let hub { environment["BINDPEER_HUB"] = hub }
    if let folder { environment["TMPDIR"] = folder.path }
    process.environment = environment.merging(variables) { $1 }
    process.standardInput = input
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    // Foundation keeps a process and its pipes forever; with many hundred open descriptors it crashes.
    try? input.fileHandleForReading.close()
    try? pipe.fileHandleForWriting.close()
    let (reader, printed) = (pipe.fileHandleForReading, printed)
    Thread.detachNewThread {
      while case let data = reader.availableData {
        printed.append(data)
        if data.isEmpty { break }
      }
      try? reader.close()
    }
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    try? input.fileHandleForWriting.close()
  }

  var pid: Int32 { process.processIdentifier }

  var output: [String] { printed.all }

  func write(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

  func send(_ signal: Int32) { kill(pid, signal) }

  /// Waits for a line; nil if none arrives within 20 s.
  func line(where matches: (String) -> Bool) -> String? { printed.first(where: matches) }

  /// Waits at most 30 s for the end, then for all output. Returns the exit code, or nil.
  func end() -> Int32? {
    let end = Date(timeIntervalSinceNow: 30)
    while process.isRunning {
      if Date() > end { return nil }
      usleep(2_000)
    }
    printed.waitUntilComplete()
    return process.terminationStatus
  }
}

/// A folder for a hub, and the commands to use it.
final class Bench {
  let folder: URL
  let hub: String
  static let programs: URL = {
    if let named = ProcessInfo.processInfo.environment["BINDBUS_BIN"] { return URL(fileURLWithPath: named) }
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return root.appendingPathComponent(".build/debug")
  }()

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("bb-\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    hub = "ipc://\(folder.path)/hub.sock"
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  static func program(_ name: String) -> String { programs.appendingPathComponent(name).path }

  /// Starts a hub and waits until it listens.
  func startHub(_ more: [String] = []) throws -> RunningProcess {
    let running = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--listen", hub, "--exit-with-stdin", "--log", "error"] + more)
    try #require(running.line { $0.hasPrefix("listening") } != nil, "\(running.output)")
    return running
  }

  func start(_ arguments: String...) throws -> RunningProcess {
    try RunningProcess(Bench.program("bindpeer"), arguments, hub: hub)
  }

  /// Runs `bindpeer` to its end.
  @discardableResult
  func run(_ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program("bindpeer"), arguments, hub: hub)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }
}
