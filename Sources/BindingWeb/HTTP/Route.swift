/// The resource that a request asks for.
enum Route: Equatable {
  /// A file of the gateway itself, by its name.
  case page(String)
  /// A file of the user's pages, by the parts of its path.
  case userPage([String])
  /// The folder of the user's pages without the trailing slash, which relative addresses need.
  case userPages
  case socket, status, metrics, health, readiness
  /// A browser with the code of an invitation; `isEntering` once a person has confirmed it.
  case invitation(code: String, isEntering: Bool)

  /// Whether it tells of all models and sessions.
  var isForOwner: Bool { [.status, .metrics].contains(self) }

  /// Whether it is served without a token: it reveals nothing that is shared. The page that asks for a code needs
  /// the style sheet and the icon.
  var isOpen: Bool { [.health, .readiness, .page("page.css"), .page("icon.svg")].contains(self) }

  /// Nil if the path is unknown.
  init?(path: String) {
    let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    switch (parts.first ?? "", parts.count) {
    case ("", 1): self = .page("dashboard.html")
    case ("demo", 1): self = .page("demo.html")
    // Browsers request it by themselves for pages without an icon.
    case ("favicon.ico", 1): self = .page("icon.svg")
    case ("form", 2...) where !parts.dropFirst().contains(""): self = .page("form.html")
    // The prefix may end with a slash, as prefixes do.
    case ("table", 1...) where !parts.dropFirst().dropLast().contains(""): self = .page("table.html")
    case ("pages", 1): self = .userPages
    case ("pages", 2...): self = .userPage(Array(parts.dropFirst()))
    case ("bind", 1): self = .socket
    case ("status.json", 1): self = .status
    case ("metrics", 1): self = .metrics
    case ("healthz", 1): self = .health
    case ("readyz", 1): self = .readiness
    case (let name, 1) where !name.hasSuffix(".html"): self = .page(name)
    default: return nil
    }
  }
}

/// The parsed target of a request.
struct Target {
  /// The path as sent, without the query.
  let rawPath: String
  /// The path with escapes decoded.
  let path: String
  /// Names and values, in order, as sent.
  let query: [(name: String, value: String)]

  /// Nil if it is not a valid path: it must begin with exactly one `/`, and its escapes must be UTF-8 without
  /// control characters.
  init?(_ text: String) {
    let halves = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let raw = String(halves[0])
    guard raw.hasPrefix("/"), !raw.hasPrefix("//"), let path = Target.unescaped(raw) else { return nil }
    rawPath = raw
    self.path = path
    query =
      halves.count < 2
      ? []
      : halves[1].split(separator: "&").map { pair in
        let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(sides[0]), sides.count == 2 ? String(sides[1]) : "")
      }
  }

  /// The value of a member of the query.
  subscript(name: String) -> String? { query.last { $0.name == name }?.value }

  /// The target without those members of the query.
  func without(_ names: String...) -> String {
    let rest = query.filter { !names.contains($0.name) }.map { $0.value.isEmpty ? $0.name : "\($0.name)=\($0.value)" }
    return rawPath + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&"))
  }

  private static func unescaped(_ text: String) -> String? {
    var bytes: [UInt8] = []
    var rest = Substring(text).utf8
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(byte)
      }
    }
    let path = String(decoding: bytes, as: UTF8.self)
    guard Array(path.utf8) == bytes, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") })
    else { return nil }
    return path
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(UnicodeScalar(byte)).hexDigitValue.map(UInt8.init)
  }
}
