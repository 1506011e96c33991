import BindingTerminal

/// Draws `top`.
struct TopView {
  let state: TopState
  let size: FullScreen.Size

  /// Lines that are not of the table: three above it and two below.
  static let frame = 6

  func lines() -> [ScreenLine] {
    let titles = TopState.titles(of: state.table)
    let rows = Array(state.rows.prefix(max(0, size.rows - TopView.frame)))
    let widths = titles.indices.map { column in
      max(titles[column].columns, rows.map { $0[column].columns }.max() ?? 0)
    }
    let others = widths.dropFirst().reduce(0) { $0 + $1 + 2 }
    let nameWidth = min(max(widths[0], 12), max(8, size.columns - others))
    func line(_ cells: [String], _ style: (Int) -> ScreenLine.Style) -> ScreenLine {
      var line = ScreenLine(cells[0], style(0)).cut(to: nameWidth)
      line.pad(to: nameWidth)
      for column in cells.indices.dropFirst() {
        line.pad(to: line.width + 2 + widths[column] - cells[column].columns)
        line.add(cells[column], style(column))
      }
      return line
    }
    let table =
      [line(titles) { $0 == state.column ? .reverse : .bold }]
      + rows.map { row in line(row) { $0 == state.column ? .bold : .plain } }
    let blanks = [ScreenLine](repeating: ScreenLine(), count: max(0, size.rows - TopView.frame - rows.count))
    return [head, rates, ScreenLine()] + table + blanks + [ScreenLine(), foot]
  }

  private var head: ScreenLine {
    guard let sample = state.sample else { return ScreenLine(state.silence.isEmpty ? "…" : state.silence, .doubtful) }
    var line = ScreenLine(sample.hub, .bold)
    line.add("  durability \(sample.durability)  \(sample.sessions.count) peers  \(sample.models.count) models")
    if sample.bytes > 0 { line.add("  \(TopState.text(Double(sample.bytes) / 1e6)) MB") }
    let isWell = state.silence.isEmpty && sample.trouble.isEmpty
    let words = [state.silence, sample.trouble, state.isPaused ? "paused" : ""].filter { !$0.isEmpty }
    let state = ScreenLine(words.isEmpty ? "live" : words.joined(separator: ", "), isWell ? .good : .bad)
    line.alignRight(state, to: min(size.columns, 120))
    return line
  }

  private var rates: ScreenLine {
    var line = ScreenLine("a second:", .dim)
    for (name, text) in state.rates {
      line.add("  \(name) ", .dim)
      line.add(text)
    }
    return line
  }

  private var foot: ScreenLine {
    let other = state.table == .models ? "peers" : "models"
    return ScreenLine("q end   Tab \(other)   ←→ sort   r reverse   ↑↓ scroll   p pause", .dim)
  }
}
