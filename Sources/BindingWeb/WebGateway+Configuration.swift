extension WebGateway {
  /// What a gateway is started with.
  public struct Configuration: Sendable {
    /// Where to listen. An address that other machines can reach needs a `certificate`, or a reverse proxy that
    /// encrypts (`proxies` and an https origin in `origins`), or `isInsecureAllowed`.
    public var address = WebAddress.standard
    /// The gateway's name among the hub's sessions.
    public var name = "web"
    /// Whether a browser must present the token in `WebGateway.url`. It is required on this machine, too, because
    /// other accounts can reach the port.
    public var isTokenAsked = true
    /// The file that stores the token for the next start and for `WebEntry`; only its owner can read it. Nil: every
    /// start makes a new token, and browsers and programs must authenticate again.
    public var keyPath: String?
    /// The directory of the hub's keys, as in `Hub.Configuration.keys`: then browsers of its members are let in by
    /// invitations (`bindhub invite NAME --page`), and may do what the hub's rights allow them. nil: only the hub's own
    /// user is let in.
    public var keys: String?
    /// Allows an address that other machines can reach, although the network traffic can be read and changed.
    public var isInsecureAllowed = false
    /// The certificate with which the gateway encrypts its connections itself: TLS 1.2 or later. Nil: it does not. It
    /// needs a build with the trait `WebTLS`, which is on by default.
    public var certificate: WebCertificate?
    /// The origins under which browsers reach the gateway, besides its address; the first is the one to print. At most
    /// `WebOrigin.maxCount`.
    public var origins: [WebOrigin] = []
    /// The reverse proxies that are believed about where a request came from. At most `WebProxy.maxCount`. On an
    /// address that other machines can reach, without `certificate` and `isInsecureAllowed`, nobody else may connect.
    public var proxies: [WebProxy] = []
    /// A folder of the user's own pages, served under `/pages/`; nil: none.
    public var pagesFolder: String?
    /// The limits of the gateway.
    public var limits = WebLimits()

    /// The defaults.
    public init() {}

    private var isEncrypted: Bool {
      certificate != nil || !isInsecureAllowed && !proxies.isEmpty && origins.contains(where: \.isSecure)
    }

    /// Whether what others can read on the network crosses it.
    var isUnprotected: Bool { !address.isLoopback && !isEncrypted }

    func check() throws(WebError) {
      guard !isUnprotected || isInsecureAllowed else {
        throw .notLoopback(address: address.description)
      }
      guard origins.count <= WebOrigin.maxCount else { throw .tooMany(what: "origins", limit: WebOrigin.maxCount) }
      guard proxies.count <= WebProxy.maxCount else { throw .tooMany(what: "proxies", limit: WebProxy.maxCount) }
      let (secure, plain) = (origins.filter(\.isSecure), origins.filter { !$0.isSecure })
      if let twice = secure.first(where: { origin in plain.contains { $0.authority == origin.authority } }) {
        throw .twoSchemes(host: twice.authority)
      }
    }
  }
}

/// The limits of a gateway. Times are rounded to milliseconds.
public struct WebLimits: Sendable, Hashable {
  /// Simultaneous connections, including WebSockets.
  public var connections = 1_100
  /// Simultaneous WebSockets.
  public var pages = 512
  /// Bytes of all names and values in a request's header.
  public var headerBytes = 16_384
  /// Fields in a request's header.
  public var headerFields = 100
  /// Connections without token or session. When one more arrives the oldest is closed, so that unauthenticated
  /// clients cannot exclude others.
  public var strangers = 128
  /// From the opening of a connection until its first request; on an unauthenticated connection, also until each
  /// further one.
  public var requestTimeout: Duration = .seconds(4)
  /// From an answer until the next request on an authenticated connection.
  public var idleTimeout: Duration = .seconds(30)
  /// Bytes of one message from a page.
  public var messageBytes = 98_304
  /// Frames from a page per second, sustained.
  public var messagesPerSecond = 500
  /// Frames from a page in one burst.
  public var messagesAtOnce = 1_000
  /// The interval of WebSocket pings.
  public var pingInterval: Duration = .seconds(10)
  /// The silence after which a page counts as dead.
  public var silenceTimeout: Duration = .seconds(30)
  /// Queued bytes at which a page counts as full. A full page is not read and is sent no commits.
  public var fullBytes = 65_536
  /// Queued bytes below which a full page becomes writable again.
  public var roomBytes = 32_768
  /// Bytes of other output, such as announcements and answers, to a full page; beyond it the page is closed.
  public var waitingBytes = 1_048_576
  /// How long the other side may take to close after the gateway's close frame.
  public var closingTimeout: Duration = .seconds(1)
  /// How long the hub may take to report.
  public var reportTimeout: Duration = .seconds(2)
  /// Bytes of one file of the user's pages.
  public var fileBytes = 16_777_216

  /// Makes the default limits.
  public init() {}
}
