import CPages
import NIOCore
import NIOHTTP1

/// A file that is served, and how a browser knows whether it has it already.
struct ServedFile: Sendable {
  let type: String
  let body: ByteBuffer
  let tag: String

  init(type: String, body: ByteBuffer) {
    self.type = type
    self.body = body
    tag = ServedFile.tag(of: body)
  }

  /// The file, or only that it is still the same.
  func answer(to headers: HTTPHeaders) -> Answer {
    let isKnown = headers[canonicalForm: "if-none-match"].contains { $0 == tag || $0 == "W/\(tag)" || $0 == "*" }
    var answer = Answer(status: isKnown ? .notModified : .ok, type: type, body: isKnown ? ByteBuffer() : body)
    answer.headers = [("Cache-Control", "no-cache"), ("ETag", tag)]
    return answer
  }

  /// FNV-1a of the bytes: it tells versions of one file apart, and is no proof of anything.
  private static func tag(of body: ByteBuffer) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in body.readableBytesView { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return "\"\(String(hash, radix: 16))-\(body.readableBytes)\""
  }

  /// The types of what is served; a file of another kind is not.
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

/// The gateway's own pages, which are part of the program.
enum StoredPages {
  static let all: [String: ServedFile] = {
    var files: [String: ServedFile] = [:]
    for number in 0..<cpages_count() {
      guard let file = cpages_at(number)?.pointee, let name = file.name.map({ String(cString: $0) }),
        let type = ServedFile.type(of: name)
      else { continue }
      let bytes = UnsafeRawBufferPointer(start: file.bytes, count: file.length)
      files[name] = ServedFile(type: type, body: ByteBuffer(bytes: bytes))
    }
    return files
  }()
}
