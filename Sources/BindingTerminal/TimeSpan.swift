import ArgumentParser

/// A duration as people write it: `500ms`, `5s`, `2m`, `1h`, `7d`; a bare number counts seconds.
package struct TimeSpan: ExpressibleByArgument {
  package let milliseconds: UInt64
  package var duration: Duration { .milliseconds(Int64(milliseconds)) }
  package var defaultValueDescription: String {
    milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000)s" : "\(milliseconds)ms"
  }

  package init(seconds: UInt64) { milliseconds = seconds * 1_000 }
  package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

  package init?(argument: String) {
    let units: [(String, Double)] = [
      ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("", 1_000),
    ]
    for (unit, factor) in units where argument.hasSuffix(unit) {
      guard let number = Double(argument.dropLast(unit.count)), number >= 0, number * factor < 1e12 else { continue }
      milliseconds = UInt64(number * factor)
      return
    }
    return nil
  }
}
