import ArgumentParser
import BindingProtocol
import Foundation
import Simulation

/// `bindlab`: a hub and peers that write by a seed, which record histories, and the check of histories.
@main
struct BindLab: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindlab", abstract: "Work on a hub and write down what happens; check what was written down.",
    subcommands: [Serve.self, Count.self, Work.self, Check.self, Leave.self, Typing.self, Hostile.self])
}

/// Reads the histories of one run and reports violations in them.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the histories of one run, of its hubs and of all its peers.",
    discussion: "Exit: 0 all held, 1 a finding, 64 usage, 66 a file cannot be read.")

  @Argument(help: "The files, all of one run.")
  var files: [String]

  @Flag(help: "Print what was counted as one line of JSON.")
  var json = false

  @Option(help: "Print so many findings at most.")
  var most = 40

  func run() throws {
    var entries: [HistoryEntry] = []
    var bad: [HistoryLocation] = []
    for file in files {
      guard let data = FileManager.default.contents(atPath: file) else {
        FileHandle.standardError.write(Data("bindlab: \(file) cannot be read\n".utf8))
        throw ExitCode(66)
      }
      let read = HistoryEntry.read(String(decoding: data, as: UTF8.self), file: file)
      entries += read.entries
      bad += read.bad
    }
    let check = HistoryCheck(entries, bad: bad)
    for finding in check.findings.prefix(most) { print(finding) }
    if check.findings.count > most { print("… and \(check.findings.count - most) more") }
    print(json ? check.figures.json(findings: check.findings.count).text : check.summary)
    if !check.findings.isEmpty { throw ExitCode(1) }
  }
}

extension HistoryCheck {
  var summary: String {
    "\(figures.writes) writes, \(figures.acknowledged) acknowledged, \(figures.commits) commits in \(figures.epochs) "
      + "epochs, \(figures.updates) updates; lost with a hub that keeps nothing: \(figures.lostWithHub), repeated "
      + "after its restart: \(figures.repeatedAfterRestart); \(findings.count) findings"
  }
}

extension HistoryFigures {
  func json(findings: Int) -> JSON {
    func number(_ name: String, _ value: Int) -> JSON.Member { .init(name, .integer(Int64(value))) }
    return .object([
      number("writes", writes), number("acknowledged", acknowledged), number("refused", refused),
      number("superseded", superseded), number("unknown", unknown), number("commits", commits),
      number("recovered", recovered), number("updates", updates), number("epochs", epochs),
      number("lostWithHub", lostWithHub), number("repeatedAfterRestart", repeatedAfterRestart),
      .init("longestPause", .unsigned(longestPause)), number("findings", findings),
      .init("acknowledgedBy", .object(acknowledgedBy.sorted { $0.key < $1.key }.map { number($0.key, $0.value) })),
    ])
  }
}
