/// The nearest of `names` to a misspelt one, if one is near enough: at most a third of the letters (at least one)
/// may be wrong, missing, extra or swapped with their neighbour.
public func nearest(to name: String, among names: some Sequence<String>) -> String? {
  let letters = Array(name.lowercased())
  let limit = max(1, letters.count / 3)
  let near = names.lazy.filter { $0 != name }.map { ($0, distance(letters, Array($0.lowercased()))) }
  return near.filter { $0.1 <= limit }.min { ($0.1, $0.0) < ($1.1, $1.0) }?.0
}

/// The number of letters to insert, delete, replace or swap with their neighbour.
private func distance(_ left: [Character], _ right: [Character]) -> Int {
  var (before, row) = ([Int](), Array(0...right.count))
  for (i, a) in left.enumerated() {
    var next = [i + 1]
    for (j, b) in right.enumerated() {
      var least = min(row[j] + (a == b ? 0 : 1), row[j + 1] + 1, next[j] + 1)
      if i > 0, j > 0, a == right[j - 1], left[i - 1] == b { least = min(least, before[j - 1] + 1) }
      next.append(least)
    }
    (before, row) = (row, next)
  }
  return row[right.count]
}
