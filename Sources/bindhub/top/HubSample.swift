import BindingProtocol

/// What a hub said of itself at one moment.
struct HubSample {
  struct Model: Equatable {
    var version: Int64
    var fields: Int64
    var sessions: Int64
  }
  struct Session: Equatable {
    var name: String
    var user: String
    var models: Int64
    /// By how many versions it lags in the model where it lags most.
    var lag: Int64
    /// The rest of its lease, milliseconds.
    var leaseLeft: Int64
  }
  let hub: String
  let durability: String
  /// Which run of the hub it is: counters begin anew with each.
  let run: String
  /// `waiting(upstream)`, a full store and the like; empty: all is well.
  let trouble: String
  let models: [String: Model]
  let sessions: [Session]
  let counters: [String: Int64]
  let bytes: Int64
  /// Seconds of a clock that only runs on.
  let time: Double

  /// - Parameter report: as `bindhub status --json` prints it.
  init(_ report: JSON, at time: Double) {
    func text(_ name: String) -> String { report[name]?.string ?? "" }
    (hub, durability, run) = (text("name"), text("durability"), text("start"))
    var models: [String: Model] = [:]
    for model in report["models"]?.elements ?? [] {
      guard let id = model["model"]?.string else { continue }
      models[id] = Model(
        version: model["version"]?.int64 ?? 0, fields: model["fields"]?.int64 ?? 0,
        sessions: model["sessions"]?.int64 ?? 0)
    }
    self.models = models
    sessions = (report["sessions"]?.elements ?? []).map { session in
      Session(
        name: "\(session["name"]?.string ?? "?")-\(session["tag"]?.string ?? "?")",
        user: session["user"]?.string ?? "", models: session["models"]?.int64 ?? 0, lag: session["lag"]?.int64 ?? 0,
        leaseLeft: session["leaseLeftMilliseconds"]?.int64 ?? 0)
    }
    counters = Dictionary(
      (report["counters"]?.members ?? []).compactMap { member in member.value.int64.map { (member.name, $0) } }
    ) { first, _ in first }
    bytes = report["store"]?["bytes"]?.int64 ?? 0
    trouble = HubSample.trouble(report)
    self.time = time
  }

  private static func trouble(_ report: JSON) -> String {
    var words: [String] = []
    if let state = report["upstream"]?["state"]?.string, state != "live" { words.append("waiting(upstream)") }
    if report["store"]?["shared"]?["connected"] == .bool(false) { words.append("waiting(upstream)") }
    if report["store"]?["isFull"] == .bool(true) { words.append("store full") }
    if report["insecure"] == .bool(true) { words.append("INSECURE") }
    if report["limited"]?.elements?.isEmpty == false { words.append("somebody is at a limit") }
    return words.joined(separator: ", ")
  }

  /// How often something happened a second since an earlier sample; nil: that was another run.
  func rate(of counter: String, since earlier: HubSample) -> Double? {
    per(earlier, (counters[counter] ?? 0) - (earlier.counters[counter] ?? 0))
  }

  /// How many commits a model had a second since an earlier sample.
  func rate(ofModel id: String, since earlier: HubSample) -> Double? {
    per(earlier, (models[id]?.version ?? 0) - (earlier.models[id]?.version ?? models[id]?.version ?? 0))
  }

  private func per(_ earlier: HubSample, _ difference: Int64) -> Double? {
    guard run == earlier.run, time > earlier.time else { return nil }
    return Double(max(0, difference)) / (time - earlier.time)
  }
}
