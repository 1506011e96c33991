/// What a gateway is started with.
public struct WebOptions: Sendable {
  /// Where to listen. Beyond this machine refused unless `isInsecureAllowed`.
  public var address = WebAddress.standard
  /// The gateway's name among the hub's sessions.
  public var name = "web"
  /// Whether a browser must show the token that `WebGateway.url` carries, on this machine too: other accounts of it
  /// reach the port as well.
  public var isTokenAsked = true
  /// Where the token is kept, for the next start and for `WebEntry`: a file that only its owner can read. Nil: every
  /// start makes a token of its own, and browsers and programs have to be let in anew.
  public var keyPath: String?
  /// Lets the gateway listen beyond this machine, where what goes over the network can be read and changed.
  public var isInsecureAllowed = false
  /// A folder of the user's own pages, served below `/pages/`; nil: none.
  public var pagesFolder: String?
  public var limits = WebLimits()

  public init() {}
}

/// What a gateway bears. Times in milliseconds.
public struct WebLimits: Sendable, Hashable {
  /// Connections at once, WebSockets among them.
  public var connections = 1_100
  /// WebSockets at once.
  public var pages = 512
  /// Bytes of all names and values of a request's header, and how many there may be.
  public var headerBytes = 16_384
  public var headerFields = 100
  /// Connections that have not shown a token or session yet. When one more comes the oldest of them is closed, so that
  /// nobody keeps others out without having been let in.
  public var strangers = 128
  /// From the opening of a connection until its first request is there; and for one that has shown neither token nor
  /// session, until its next.
  public var requestMilliseconds: Int64 = 4_000
  /// From an answer until the next request of the same connection is there, if it has shown token or session.
  public var idleMilliseconds: Int64 = 30_000
  /// Bytes of one message from a page.
  public var messageBytes = 98_304
  /// Frames from a page in a second, for long and at once.
  public var messagesPerSecond = 500
  public var messagesAtOnce = 1_000
  /// Between two WebSocket pings, and after how long without a sign of life a page is taken for dead.
  public var pingMilliseconds: Int64 = 10_000
  public var silenceMilliseconds: Int64 = 30_000
  /// Bytes that wait for a page: from the first on it counts as full, and is neither read nor told of commits before
  /// fewer than the second are left. What it is told all the same meanwhile, news of new models and answers, may have
  /// the third; past it the page is closed.
  public var fullBytes = 65_536
  public var roomBytes = 32_768
  public var waitingBytes = 1_048_576
  /// How long the other side may take to close after the gateway's last word.
  public var closingMilliseconds: Int64 = 1_000
  /// How long the hub may take to report.
  public var reportMilliseconds: Int64 = 2_000
  /// Bytes of one file of the user's pages.
  public var fileBytes = 16_777_216

  public init() {}
}
