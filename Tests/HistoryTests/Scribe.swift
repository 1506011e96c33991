import Simulation

/// Builds histories by hand: one entry a line, a nanosecond apart, in the files of one hub and of peers.
struct HistoryBuilder {
  private var files: [String: [String]] = [:]
  private var time = 0

  init() { hub(1) }

  private mutating func line(_ file: String, _ text: String) {
    time += 1
    files[file, default: []].append("{\"t\":\(time),\(text)}")
  }

  /// A hub starts, by default with a memory store.
  mutating func hub(_ epoch: Int, durability: String = "memory") {
    line("hub", "\"e\":\"hub\",\"epoch\":\(epoch),\"durability\":\"\(durability)\"")
  }

  mutating func commit(
    _ version: Int, by peer: String, _ number: Int, _ changes: String, epoch: Int = 1, model: String = "m",
    again: Bool = false
  ) {
    line(
      "hub",
      """
      "e":"commit","m":"\(model)","epoch":\(epoch),"version":\(version),"tag":"\(peer)1","number":\(number),\
      "changes":{\(changes)}\(again ? ",\"again\":true" : "")
      """)
  }

  mutating func peer(_ name: String, outbox: Bool = false, run: Int = 1) {
    line(name, "\"e\":\"peer\",\"tag\":\"\(name)\(run)\",\"name\":\"\(name)\",\"outbox\":\(outbox)")
  }

  mutating func submit(_ peer: String, _ write: Int, _ operations: String, conditions: String = "") {
    line(peer, "\"e\":\"submit\",\"w\":\(write),\"m\":\"m\",\"ops\":[\(operations)],\"if\":[\(conditions)]")
  }

  mutating func made(_ peer: String, _ write: Int) { line(peer, "\"e\":\"made\",\"w\":\(write)") }

  mutating func outcome(_ peer: String, _ write: Int, _ version: Int, epoch: Int = 1) {
    line(peer, "\"e\":\"outcome\",\"w\":\(write),\"as\":\"committed\",\"epoch\":\(epoch),\"version\":\(version)")
  }

  mutating func outcome(_ peer: String, _ write: Int, as outcome: String) {
    line(peer, "\"e\":\"outcome\",\"w\":\(write),\"as\":\"\(outcome)\"")
  }

  mutating func update(_ peer: String, _ version: Int, _ changes: String, epoch: Int = 1) {
    line(peer, "\"e\":\"update\",\"m\":\"m\",\"epoch\":\(epoch),\"version\":\(version),\"changes\":{\(changes)}")
  }

  mutating func read(_ peer: String, _ field: String, _ value: String) {
    line(peer, "\"e\":\"read\",\"m\":\"m\",\"f\":\"\(field)\",\"value\":\(value)")
  }

  mutating func final(_ peer: String, _ version: Int, _ values: String, epoch: Int = 1) {
    line(peer, "\"e\":\"final\",\"m\":\"m\",\"epoch\":\(epoch),\"version\":\(version),\"values\":{\(values)}")
  }

  mutating func raw(_ file: String, _ text: String) { files[file, default: []].append(text) }

  /// A peer sets a field, the hub commits it, and the peer receives the outcome.
  mutating func set(_ field: String, _ value: String, by peer: String, _ number: Int, at version: Int) {
    submit(peer, number, "[\"set\",\"\(field)\",\"\(value)\"]")
    commit(version, by: peer, number, "\"\(field)\":\"\(value)\"")
    outcome(peer, number, version)
  }

  var checked: HistoryCheck {
    var entries: [HistoryEntry] = []
    var bad: [HistoryLocation] = []
    for (file, lines) in files.sorted(by: { $0.key < $1.key }) {
      let read = HistoryEntry.read(lines.joined(separator: "\n") + "\n", file: file)
      entries += read.entries
      bad += read.bad
    }
    return HistoryCheck(entries, bad: bad)
  }

  /// The findings, by name and location.
  var findings: [String] { checked.findings.map { "\($0.name.rawValue) \($0.location)" } }
}
