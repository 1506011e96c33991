/// A reverse proxy whose headers a gateway believes, by its address: `10.0.0.2`, or a range such as `10.0.0.0/24` or
/// `fd00::/8`.
public struct WebProxy: Hashable, Sendable, CustomStringConvertible {
  public let description: String
  private let network: [UInt8]
  private let bits: Int

  /// At most this many for one gateway.
  public static let maxCount = 64

  /// Parses an address or a range.
  /// - Throws: `WebError.noProxy`, which shows the valid form.
  public init(_ text: String) throws(WebError) {
    let halves = text.split(separator: "/", omittingEmptySubsequences: false)
    guard halves.count <= 2, let address = NumericAddress(String(halves[0])) else { throw .noProxy(text: text) }
    let most = address.isIPv4 ? 32 : 128
    let digits = halves.count == 2 ? halves[1] : "\(most)"
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(digits), length <= most else {
      throw .noProxy(text: text)
    }
    description = text
    bits = length + 128 - most
    network = WebProxy.masked(address.bytes, bits)
  }

  func contains(_ address: NumericAddress) -> Bool { WebProxy.masked(address.bytes, bits) == network }

  private static func masked(_ bytes: [UInt8], _ bits: Int) -> [UInt8] {
    bytes.enumerated().map { index, byte in
      let kept = min(8, max(0, bits - 8 * index))
      return byte & UInt8(truncatingIfNeeded: 0xFF00 >> kept)
    }
  }
}
