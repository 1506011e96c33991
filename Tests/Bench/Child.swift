import Foundation

/// This program in another role, in its own process; it prints a line when it is ready and ends with its parent.
final class Child {
  private let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private var rest = Data()

  init(_ arguments: [String]) throws {
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    process.standardOutput = output
    process.standardInput = input
    try process.run()
  }

  /// Waits for the next line that it prints.
  func line() throws -> String {
    while true {
      if let end = rest.firstIndex(of: 10) {
        let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
        rest = Data(rest[rest.index(after: end)...])
        return line
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { throw Ended(role: process.arguments?.first ?? "") }
      rest.append(more)
    }
  }

  func end() {
    process.terminate()
    process.waitUntilExit()
  }

  /// Ends it as `kill -9` does.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  struct Ended: Error, CustomStringConvertible {
    let role: String
    var description: String { "the process for '\(role)' ended too early" }
  }
}

/// Sends a line to the parent process, unbuffered.
func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// Nanoseconds of a clock that all processes of this machine share, in 16 digits.
func now() -> UInt64 { 1_000_000_000_000_000 + DispatchTime.now().uptimeNanoseconds % 1_000_000_000_000_000 }

/// A folder for the sockets of one measurement.
func makeFolder() throws -> String {
  let folder = FileManager.default.temporaryDirectory.path + "/bindbench-\(UInt32.random(in: 1 ... .max))"
  try FileManager.default.createDirectory(
    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  return folder
}
