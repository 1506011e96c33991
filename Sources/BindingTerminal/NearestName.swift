/// The nearest of `names` to a misspelt one, if it is near at all: a letter of three may be wrong, missing, too many or
/// have changed places with its neighbour.
public func nearest(to name: String, among names: some Sequence<String>) -> String? {
  let letters = Array(name.lowercased())
  let limit = max(1, letters.count / 3)
  let near = names.lazy.filter { $0 != name }.map { ($0, distance(letters, Array($0.lowercased()))) }
  return near.filter { $0.1 <= limit }.min { ($0.1, $0.0) < ($1.1, $1.0) }?.0
}

/// How many letters have to be put in, left out, replaced or exchanged with their neighbour.
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
