import ArgumentParser
import BindingHub
import BindingKeys
import BindingProtocol
import BindingTerminal
import Foundation

/// Shows the status of a running hub.
struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show the sessions, models and counters of a running hub.")

  @OptionGroup var choice: HubChoice

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  @Option(name: .long, help: "Milliseconds to wait for the answer. Default: 2000, or 700 if nothing listens.")
  var timeout: Int?

  func run() throws {
    let (addresses, member) = choice.places()
    for address in addresses {
      switch ask(address, member) {
      case .report(let report): return print(json ? report.text : Status.words(report))
      case .refused(let text): fail(HubChoice.refusal(text), 77)
      case .none: continue
      }
    }
    fail(choice.noAnswer(at: addresses[0], to: "status", as: member), 69)
  }

  /// Waits longer for a hub that may be restarting, but not if its socket does not exist.
  private func ask(_ address: HubAddress, _ member: KnownHub?) -> HubStatus.Answer {
    let limits = timeout.map { [$0] } ?? [700, 1_300]
    for (attempt, limit) in limits.enumerated() where attempt == 0 || !address.isCertainlyAbsent {
      let answer = HubStatus.answer(from: address, as: member, timeout: .milliseconds(limit))
      guard case .none = answer else { return answer }
    }
    return .none
  }

  /// Who has connected and with which roles, at a hub with keys.
  private static func user(of session: JSON) -> String {
    guard let user = session["user"] else { return "" }
    let roles = (session["roles"]?.elements ?? []).map { PrintedText.escaped($0.plain) }
    return "  user \(PrintedText.escaped(user.plain))" + (roles.isEmpty ? "" : " (\(roles.joined(separator: ", ")))")
  }

  private static func plain(_ json: JSON, _ name: String) -> String { PrintedText.escaped(json[name]?.plain ?? "?") }

  private static func storeLines(_ store: JSON) -> [String] {
    guard let shared = store["shared"] else {
      let isFull = plain(store, "isFull") == "true" ? "  FULL: writes wait until the disk has free space" : ""
      return [
        store["path"] == .null
          ? "store memory: the models are lost when the hub ends"
          : "store \(plain(store, "path"))  bytes \(plain(store, "bytes"))  log \(plain(store, "logBytes"))\(isFull)"
      ]
    }
    let state = plain(shared, "connected") == "true" ? "live" : "waiting(upstream)"
    let bytes = "bytes \(plain(store, "bytes")) of \(plain(shared, "quotaBytes"))"
    return [
      "store \(plain(store, "path"))  \(state)  \(bytes)  room \(plain(shared, "room"))  lag \(plain(shared, "lag"))"
    ] + (shared["shards"]?.elements ?? []).map(shardLine)
      + ["gradeReason", "roomReason"].map { plain(shared, $0) }.filter { !$0.isEmpty }.map { "  \($0)" }
  }

  private static func shardLine(_ shard: JSON) -> String {
    let prefixes = (shard["prefixes"]?.elements ?? []).map { PrintedText.escaped($0.plain) }.joined(separator: " ")
    let trouble = plain(shard, "trouble")
    let state = plain(shard, "connected") == "true" ? "live" : "waiting(upstream)"
    return "  shard \(plain(shard, "address"))  \(prefixes)  \(state)  bytes \(plain(shard, "bytes")) of "
      + plain(shard, "quotaBytes") + (trouble.isEmpty ? "" : "  \(trouble)")
  }

  private static func words(_ report: JSON) -> String {
    func text(_ name: String) -> String { plain(report, name) }
    var lines = [
      "\(text("name"))  epoch \(text("epoch"))  log \(text("logID"))  "
        + "durability \(text("durability"))  heartbeat \(text("heartbeat"))"
    ]
    if plain(report, "insecure") == "true" {
      lines.append("INSECURE: any client on the network may read and write everything, and nothing is encrypted")
    }
    if let upstream = report["upstream"] {
      let isLive = plain(upstream, "state") == "live"
      let reason = upstream["reason"].flatMap { $0 == .null ? nil : ": \(PrintedText.escaped($0.plain))" } ?? ""
      let state = isLive ? "live, \(plain(upstream, "name"))" : "waiting(upstream)\(reason)"
      lines.append(
        "upstream \(plain(upstream, "address"))  \(state)  follows \(plain(upstream, "models"))  "
          + "writers \(plain(upstream, "writers"))")
    }
    if let next = report["keys"]?["next"], let moment = report["keys"]?["nextFrom"]?.int64 {
      lines.append("key  changes to \(PrintedText.escaped(next.plain)) at \(date(moment))")
    }
    if report["upstream"] != nil {
      lines.append("store none: the upstream hub keeps the models")
    } else if let store = report["store"] {
      lines += storeLines(store)
    }
    if case .array(let sessions)? = report["sessions"] {
      lines.append("sessions \(sessions.count)")
      for session in sessions {
        lines.append(
          "  \(plain(session, "name"))-\(plain(session, "tag"))  models \(plain(session, "models"))\(user(of: session))"
        )
      }
    }
    if case .array(let models)? = report["models"] {
      lines.append("models \(models.count)")
      for model in models {
        lines.append(
          "  \(plain(model, "model"))  version \(plain(model, "version"))  fields \(plain(model, "fields"))"
        )
      }
    }
    for entry in report["disagreements"]?.elements ?? [] {
      for field in entry["fields"]?.members ?? [] {
        lines.append(
          "\(plain(entry, "peer")) declares \(plain(entry, "model")).\(PrintedText.escaped(field.name)) as "
            + "\(plain(field.value, "declared")); the model's description says \(plain(field.value, "described"))")
      }
    }
    for name in report["limited"]?.elements ?? [] {
      let held = (name.members ?? []).filter { $0.name != "name" }.map { "\($0.name) \($0.value.plain) times" }
      lines.append("\(plain(name, "name")) has reached its limit of \(held.joined(separator: ", of "))")
    }
    if case .object(let counters)? = report["counters"] {
      let nonzero = counters.filter { if case .integer(let count) = $0.value { count != 0 } else { false } }
      lines.append("counters  " + nonzero.map { "\($0.name) \($0.value.plain)" }.joined(separator: "  "))
    }
    return lines.joined(separator: "\n")
  }
}

extension JSON {
  var plain: String {
    if case .string(let text) = self { text } else { text }
  }
}
