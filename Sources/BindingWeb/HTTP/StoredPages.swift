import CPages
import NIOCore
import NIOHTTP1

/// A served file with its entity tag.
struct ServedFile: Sendable {
  let type: String
  let body: ByteBuffer
  let tag: String
  /// The body as gzip, for browsers that accept it; nil: always sent uncompressed.
  let packed: ByteBuffer?

  /// - Parameter isPacked: whether to keep it also as gzip.
  init(type: String, body: ByteBuffer, isPacked: Bool = false) {
    self.type = type
    self.body = body
    tag = ServedFile.tag(of: body)
    packed = isPacked ? Gzip.packed(Array(body.readableBytesView)).map(ByteBuffer.init(bytes:)) : nil
  }

  /// The file, or 304 if the browser has it already.
  func answer(to headers: HTTPHeaders) -> Answer {
    let packed = ServedFile.acceptsGzip(headers) ? packed : nil
    // Different bytes need a different tag.
    let tag = packed == nil ? tag : "\(tag.dropLast())-gzip\""
    let isKnown = headers[canonicalForm: "if-none-match"].contains { $0 == tag || $0 == "W/\(tag)" || $0 == "*" }
    var answer = Answer(status: isKnown ? .notModified : .ok, type: type, body: isKnown ? ByteBuffer() : packed ?? body)
    answer.headers = [("Cache-Control", "no-cache"), ("ETag", tag)]
    if self.packed != nil { answer.headers.append(("Vary", "Accept-Encoding")) }
    if packed != nil, !isKnown { answer.headers.append(("Content-Encoding", "gzip")) }
    return answer
  }

  /// Whether a browser accepts gzip, with a weight other than 0.
  private static func acceptsGzip(_ headers: HTTPHeaders) -> Bool {
    headers[canonicalForm: "accept-encoding"].contains { coding in
      let parts = coding.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard parts.first == "gzip" else { return false }
      return !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)).map { $0 <= 0 } ?? true }
    }
  }

  /// FNV-1a of the bytes: distinguishes versions of a file, and is not cryptographic.
  private static func tag(of body: ByteBuffer) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    // By place: an unoptimised build takes 0.3 s for the pages otherwise, before it answers its first request.
    body.withUnsafeReadableBytes { bytes in
      var place = 0
      while place < bytes.count {
        hash = (hash ^ UInt64(bytes[place])) &* 0x100_0000_01b3
        place &+= 1
      }
    }
    return "\"\(String(hash, radix: 16))-\(body.readableBytes)\""
  }

  /// The media types of served files; nil: not served.
  static func type(of name: String) -> String? {
    guard let dot = name.lastIndex(of: ".") else { return nil }
    return switch name[name.index(after: dot)...] {
    case "html": "text/html; charset=utf-8"
    case "js", "mjs": "text/javascript; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "svg": "image/svg+xml"
    case "png": "image/png"
    case "jpg", "jpeg": "image/jpeg"
    case "gif": "image/gif"
    case "webp": "image/webp"
    case "avif": "image/avif"
    case "ico": "image/x-icon"
    case "mp3": "audio/mpeg"
    case "woff2": "font/woff2"
    case "wasm": "application/wasm"
    case "json", "map": "application/json"
    case "webmanifest": "application/manifest+json"
    case "txt": "text/plain; charset=utf-8"
    default: nil
    }
  }
}

/// The gateway's own pages, embedded in the program.
enum StoredPages {
  static let all: [String: ServedFile] = {
    var files: [String: ServedFile] = [:]
    for number in 0..<cpages_count() {
      guard let file = cpages_at(number)?.pointee, let name = file.name.map({ String(cString: $0) }),
        let type = name.hasSuffix(".d.ts") ? "text/plain; charset=utf-8" : ServedFile.type(of: name)
      else { continue }
      let bytes = UnsafeRawBufferPointer(start: file.bytes, count: file.length)
      files[name] = ServedFile(type: type, body: ByteBuffer(bytes: bytes), isPacked: true)
    }
    return files
  }()
}
