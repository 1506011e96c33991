import NIOCore
import NIOHTTP1

/// The answer to a request.
struct Answer {
  var status: HTTPResponseStatus
  var type = "text/plain; charset=utf-8"
  var body: ByteBuffer
  var headers: [(name: String, value: String)] = []
  /// Whether the connection ends with it.
  var closes = false
  /// Whether it is a page with a form that submits to this gateway.
  var sendsForms = false
  /// The reason of a refusal, to be counted.
  var refusal: WebRefusal?

  /// A sentence for people: the problem and the remedy.
  static func plainText(_ status: HTTPResponseStatus, _ text: String, _ refusal: WebRefusal? = nil) -> Answer {
    Answer(status: status, body: ByteBuffer(string: text + "\n"), headers: [Answer.notKept], refusal: refusal)
  }

  /// The last answer on a connection that violates the protocol.
  static func closing(_ status: HTTPResponseStatus, _ text: String, _ refusal: WebRefusal) -> Answer {
    var answer = plainText(status, text, refusal)
    answer.closes = true
    return answer
  }

  static let notKept = (name: "Cache-Control", value: "no-store")

  /// Sent with every answer: restricts what a page may load and do, including the user's own pages.
  private var policy: String {
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
      + "media-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
      + "form-action '\(sendsForms ? "self" : "none")'; frame-ancestors 'none'"
  }

  private static let rules: [(String, String)] = [
    ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
  ]

  var head: HTTPResponseHead {
    var fields = HTTPHeaders(headers.map { ($0.name, $0.value) })
    fields.add(name: "Content-Security-Policy", value: policy)
    fields.add(contentsOf: Answer.rules)
    if status != .notModified {
      fields.add(name: "Content-Type", value: type)
      fields.add(name: "Content-Length", value: String(body.readableBytes))
    }
    if closes { fields.add(name: "Connection", value: "close") }
    return HTTPResponseHead(version: .http1_1, status: status, headers: fields)
  }

  /// The whole answer as bytes, for a connection without a request.
  var bytes: ByteBuffer {
    var text = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n"
    for (name, value) in head.headers { text += "\(name): \(value)\r\n" }
    var buffer = ByteBuffer(string: text + "\r\n")
    buffer.writeImmutableBuffer(body)
    return buffer
  }
}
