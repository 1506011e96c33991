import ArgumentParser
import BindingPeer
import BindingTerminal
import Foundation

/// Writes the models that `export` has printed.
struct Import: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write the models that export has printed.",
    discussion: """
      The first line decides: {"model":… begins JSON lines, model,FIELD,… the table of export --csv. Commas, \
      semicolons or tabs separate its cells; an empty cell names no field, and each value is read as the field's \
      declared type.

      Fields that a line does not name stay, unless with --replace. What has its value already is not written again, \
      so an import that was interrupted can be repeated. A model's description is written if it has none, or with \
      --replace. One model is one commit, or several if it exceeds 1,000 fields or 200,000 bytes.

      Exit codes: 0 all is as in the file. Otherwise an error names the lines: 65 a line is no model or does not fit, \
      75 the outcome of a line is unknown, 3 a line was refused.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "FILE, or - for standard input.")
  var file = "-"
  @Flag(help: "Delete the fields of a model that its line does not name, and replace its description.")
  var replace = false
  @Flag(name: .customLong("default"), help: "Write only fields that never had a value.")
  var asDefault = false
  @Flag(name: .customLong("keep-going"), help: "Continue after a line that is no model or does not fit.")
  var keepsGoing = false

  func validate() throws {
    if replace, asDefault { throw ValidationError("--default keeps what is there. Omit it, or --replace") }
  }

  mutating func run() async throws {
    let input = try ImportInput(file)
    let peer = try await common.connect(patiently: true)
    let progress = Progress("import", isWanted: !common.json)
    var run = ImportRun(
      common: common, way: replace ? .replace : asDefault ? .fill : .overwrite,
      reader: ModelReader(peer: peer, timeout: common.timeout))
    var lines = LineReader(longest: ImportedModel.longestLine, read: input.read)
    while let line = lines.next() {
      try await run.take(line)
      if run.isAtEnd || (run.report.hasBadLine && !keepsGoing) { break }
      progress.show(input.part) { "\(run.report.models) models" }
    }
    try await run.end()
    progress.end()
    if case .stopped(let reason) = peer.status.phase { throw reason.failure }
    await peer.close(flush: .zero)
    if !common.json { Terminal.print(run.report.summary) }
    if let failure = run.report.failure { throw failure }
  }
}

/// The file of `import`, and how much of it is read.
private final class ImportInput {
  private let handle: FileHandle
  private let size: Int
  private var count = 0

  init(_ path: String) throws(Failure) {
    guard path != "-" else {
      (handle, size) = (.standardInput, 0)
      return
    }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw Failure(.usage, "cannot read the file \(excerpt(path))")
    }
    self.handle = handle
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    size = (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  func read() -> [UInt8] {
    let data = handle === FileHandle.standardInput ? handle.availableData : handle.readData(ofLength: 1 << 16)
    count += data.count
    return [UInt8](data)
  }

  /// From 0 to 1; 0 if the size is not known.
  var part: Double { size > 0 ? Double(count) / Double(size) : 0 }
}
