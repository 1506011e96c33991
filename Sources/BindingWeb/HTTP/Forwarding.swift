import NIOHTTP1

/// What reverse proxies say about a request that they pass on: the browser's address, scheme and host, from
/// `X-Forwarded-For`, `-Proto` and `-Host`, or else from `Forwarded` (RFC 7239).
///
/// Only what a named proxy added counts. Each proxy appends to what it received, so the entries are read from the end:
/// the first address that is no named proxy's is the browser's, and the browser may have invented what stands before.
struct Forwarding: Equatable {
  /// The last address that a named proxy has seen; nil: it said none.
  var client: NumericAddress?
  /// `http` or `https`.
  var scheme: String?
  var host: String?

  static let names = ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"]

  /// Whether a request has any of the headers.
  static func isIn(_ headers: HTTPHeaders) -> Bool { names.contains { headers.contains(name: $0) } }

  /// A proxy that writes the `X-` headers passes on what a browser wrote as `Forwarded`; so that one counts only where
  /// the others are missing.
  init(_ headers: HTTPHeaders, proxies: [WebProxy]) {
    func list(_ name: String) -> [String] { headers[name].flatMap { Forwarding.parts($0, at: ",") } }
    let (addresses, schemes, hosts) = (list("x-forwarded-for"), list("x-forwarded-proto"), list("x-forwarded-host"))
    if addresses.isEmpty, schemes.isEmpty, hosts.isEmpty {
      let elements = list("forwarded").map(Forwarding.pairs)
      let place = take(elements.map { $0["for"] ?? "" }, proxies)
      guard let element = place.map({ elements[$0] }) ?? elements.last else { return }
      (scheme, host) = (element["proto"]?.lowercased(), element["host"])
    } else {
      let place = take(addresses, proxies)
      // A proxy that appends to all three lists keeps them in step; one that replaces a list leaves one entry.
      func entry(_ list: [String]) -> String? { list.count == addresses.count ? place.map { list[$0] } : list.last }
      (scheme, host) = (entry(schemes)?.lowercased(), entry(hosts))
    }
  }

  /// Finds the browser's address, and returns its place; nil if there is none.
  private mutating func take(_ addresses: [String], _ proxies: [WebProxy]) -> Int? {
    var place: Int?
    for index in addresses.indices.reversed() {
      // Whoever hides its address ("unknown", "_name") is somebody behind the proxy that said so.
      guard let address = Forwarding.address(addresses[index]) else { return place ?? index }
      (client, place) = (address, index)
      if !proxies.contains(where: { $0.contains(address) }) { return index }
    }
    return place
  }

  /// An address as the headers write it, with or without a port: `192.0.2.1:80`, `[2001:db8::1]:80`, `2001:db8::1`.
  static func address(_ text: String) -> NumericAddress? {
    if text.hasPrefix("[") { return NumericAddress(String(text.dropFirst().prefix { $0 != "]" })) }
    return NumericAddress(text.filter { $0 == ":" }.count == 1 ? String(text.prefix { $0 != ":" }) : text)
  }

  private static func pairs(_ element: String) -> [String: String] {
    var pairs: [String: String] = [:]
    for part in parts(element, at: ";") {
      let sides = part.split(separator: "=", maxSplits: 1).map(String.init)
      guard sides.count == 2 else { continue }
      let value = sides[1].hasPrefix("\"") ? String(sides[1].dropFirst().prefix { $0 != "\"" }) : sides[1]
      pairs[sides[0].lowercased()] = value
    }
    return pairs
  }

  /// The parts of a list, trimmed, without those that are empty. A separator inside quotes separates nothing.
  private static func parts(_ text: String, at separator: Character) -> [String] {
    var parts = [""]
    var isQuoted = false
    for character in text {
      if character == "\"" { isQuoted.toggle() }
      if character == separator, !isQuoted { parts.append("") } else { parts[parts.count - 1].append(character) }
    }
    return parts.map { $0.trimmed }.filter { !$0.isEmpty }
  }
}

extension String {
  /// Without spaces and tabs at both ends.
  fileprivate var trimmed: String {
    let start = drop { $0 == " " || $0 == "\t" }
    return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
