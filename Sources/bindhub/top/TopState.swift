import BindingTerminal

/// What `top` shows: one of two tables, in an order. It has no terminal, hub or clock: samples and keys go in.
struct TopState {
  enum Table: CaseIterable { case models, peers }

  private(set) var table = Table.models
  /// The column by which each table is sorted, counted from 0.
  private var columns: [Table: Int] = [.models: 1, .peers: 3]
  private(set) var isReversed = false
  private(set) var isPaused = false
  private var first = 0
  private(set) var sample: HubSample?
  private var earlier: HubSample?
  /// Why there is nothing newer; empty: there is.
  private(set) var silence = ""

  /// Takes what the hub said, unless the picture is held.
  mutating func take(_ new: HubSample) {
    silence = ""
    guard !isPaused else { return }
    (earlier, sample) = (sample, new)
  }

  mutating func take(silence words: String) { silence = words }

  /// Returns whether the key ends it.
  mutating func take(_ key: Key, rows: Int) -> Bool {
    switch key {
    case .text("q"), .control("c"), .control("d"): return true
    case .tab, .backTab: (table, first) = (table == .models ? .peers : .models, 0)
    case .left: move(by: -1)
    case .right: move(by: 1)
    case .text("r"): isReversed.toggle()
    case .text("p"), .text(" "): isPaused.toggle()
    case .down: first += 1
    case .up: first -= 1
    case .pageDown: first += rows
    case .pageUp: first -= rows
    case .home: first = 0
    case .end: first = .max / 2
    default: break
    }
    first = max(0, min(first, count - 1))
    return false
  }

  private mutating func move(by steps: Int) {
    columns[table] = min(max(column + steps, 0), TopState.titles(of: table).count - 1)
    isReversed = false
  }

  var column: Int { columns[table] ?? 0 }

  private var count: Int { (table == .models ? sample?.models.count : sample?.sessions.count) ?? 0 }

  // MARK: - Rows

  static func titles(of table: Table) -> [String] {
    table == .models
      ? ["MODEL", "COMMITS/s", "VERSION", "FIELDS", "PEERS"] : ["PEER", "USER", "MODELS", "LAG", "LEASE"]
  }

  /// The rows from the first one in view: a name, and what stands in the other columns.
  var rows: ArraySlice<[String]> {
    let sorted = table == .models ? modelRows : peerRows
    let ordered = isReversed ? sorted.reversed() : sorted
    return ordered.map(\.cells)[min(first, ordered.count)...]
  }

  private struct Row {
    var name: String
    var cells: [String]
    /// What numbers are sorted by; nil: the text.
    var keys: [Double?]
  }

  private var modelRows: [Row] {
    guard let sample else { return [] }
    return sort(
      sample.models.map { id, model in
        let rate = earlier.flatMap { sample.rate(ofModel: id, since: $0) } ?? 0
        return Row(
          name: id, cells: [id, TopState.text(rate), "\(model.version)", "\(model.fields)", "\(model.sessions)"],
          keys: [nil, rate, Double(model.version), Double(model.fields), Double(model.sessions)])
      })
  }

  private var peerRows: [Row] {
    sort(
      (sample?.sessions ?? []).map { one in
        Row(
          name: one.name,
          cells: [
            one.name, one.user, "\(one.models)", "\(one.lag)", "\(TopState.text(Double(one.leaseLeft) / 1_000)) s",
          ],
          keys: [nil, nil, Double(one.models), Double(one.lag), Double(one.leaseLeft)])
      })
  }

  /// Names ascend, numbers descend; what is equal stands by name.
  private func sort(_ rows: [Row]) -> [Row] {
    let column = column
    return rows.sorted { one, other in
      if let (mine, theirs) = one.keys[column].flatMap({ mine in other.keys[column].map { (mine, $0) } }) {
        return mine == theirs ? one.name < other.name : mine > theirs
      }
      return (one.cells[column], one.name) < (other.cells[column], other.name)
    }
  }

  // MARK: - The hub

  static let counters = [
    ("commits", "commits"), ("changes", "changes"), ("frames", "framesReceived"), ("conflicts", "conflicts"),
    ("snapshots", "snapshots"),
  ]

  /// What happened how often a second.
  var rates: [(name: String, text: String)] {
    TopState.counters.map { name, counter in
      (name, earlier.flatMap { sample?.rate(of: counter, since: $0) }.map(TopState.text) ?? "–")
    }
  }

  /// One digit behind the point below 100, none above.
  static func text(_ number: Double) -> String {
    guard number < 99.95 else { return "\(Int(number.rounded()))" }
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
