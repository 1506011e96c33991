public import BindingWire

/// One page, for as long as its WebSocket is open. A number is never used twice.
public struct PageID: Hashable, Sendable {
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}

/// What a gateway's machine is told at its start.
public struct GatewayOptions: Sendable {
  /// How long a page may say nothing before its `hello`, milliseconds.
  public var helloMilliseconds: UInt64 = 5_000

  public init() {}
}

/// What a gateway has done since its start.
public struct GatewayCounters: Sendable, Hashable {
  /// Frames from the hub, and texts from pages.
  public var frames: UInt64 = 0
  public var texts: UInt64 = 0

  public init() {}

  public var list: [(name: String, value: UInt64)] {
    [("frames", frames), ("texts", texts)]
  }
}

/// What the shell has to do for a gateway.
public enum GatewayAction: Sendable {
  /// Close the hub connection if there is one, open a new one after the pause, then say `opened`.
  case open(afterMilliseconds: UInt64)
  /// A frame to the hub.
  case send([UInt8])
  /// A topic on the hub connection.
  case subscribe([UInt8])
  case unsubscribe([UInt8])
  /// One text message.
  case tell(PageID, [UInt8])
  /// Close its WebSocket; the machine has forgotten it already.
  case end(PageID, code: UInt16, reason: String)
  /// Worth a line in the log.
  case log(String)
  /// Close the hub connection, for good.
  case close
}

/// Actions in the order in which they are to be carried out.
public struct GatewayOutput: Sendable {
  public var actions: [GatewayAction] = []

  public init() {}

  public mutating func removeAll() { actions.removeAll(keepingCapacity: true) }
}

/// The pure machine between a hub and pages.
public struct Gateway: Sendable {
  private let identity: Identity
  private let options: GatewayOptions
  private var session: SessionID
  private var hasBegun = false
  /// By when a page must have said hello; .max once it has.
  private var pages: [PageID: UInt64] = [:]
  public private(set) var isLive = false
  public private(set) var counters = GatewayCounters()

  public init(identity: Identity, seed: UInt64, options: GatewayOptions = GatewayOptions(), now: UInt64) {
    self.identity = identity
    self.options = options
    session = seed | 1
  }

  /// Milliseconds of the caller's monotonic clock.
  public var nextDeadline: UInt64 { hasBegun ? pages.values.min() ?? .max : 0 }

  public mutating func tick(now: UInt64, into output: inout GatewayOutput) {
    if !hasBegun {
      hasBegun = true
      output.actions.append(.open(afterMilliseconds: 0))
    }
    for page in pages.filter({ $0.value <= now }).keys { end(page, 4004, "no hello came", &output) }
  }

  public mutating func opened(now: UInt64, into output: inout GatewayOutput) {
    session += 2
    output.actions.append(.send(PeerMessage.hello(Hello(identity: identity)).encode(session: session, start: 0)))
  }

  public mutating func lost(now: UInt64, into output: inout GatewayOutput) {
    isLive = false
    for page in Array(pages.keys) { end(page, 1012, "the hub is gone: try again", &output) }
    output.actions.append(.open(afterMilliseconds: 100))
  }

  public mutating func receive(_ frame: UnsafeRawBufferPointer, now: UInt64, into output: inout GatewayOutput) {
    counters.frames += 1
    if case .welcome? = (try? HubMessage.decode(frame))?.message { isLive = true }
  }

  public mutating func finishDrain(now: UInt64, into output: inout GatewayOutput) {}

  public mutating func arrived(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {
    pages[page] = now + options.helloMilliseconds
  }

  public mutating func receive(
    _ text: UnsafeRawBufferPointer, from page: PageID, now: UInt64, into output: inout GatewayOutput
  ) {
    counters.texts += 1
    guard let message = try? JSON(parsing: text), let kind = message["kind"]?.string else {
      return end(page, 4000, "kind is missing", &output)
    }
    if kind == "hello" {
      pages[page] = .max
      output.actions.append(.tell(page, JSON.object([.init("kind", "welcome")]).bytes))
    } else if kind == "ping" {
      output.actions.append(
        .tell(page, JSON.object([.init("kind", "pong"), .init("token", message["token"] ?? .null)]).bytes))
    }
  }

  /// Its socket takes no more for now.
  public mutating func isFull(_ page: PageID) {}

  public mutating func hasRoom(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {}

  /// Its socket is closed.
  public mutating func gone(_ page: PageID, now: UInt64, into output: inout GatewayOutput) {
    pages[page] = nil
  }

  /// The gateway ends.
  public mutating func bye(now: UInt64, into output: inout GatewayOutput) {
    for page in Array(pages.keys) { end(page, 1001, "the gateway is going", &output) }
    output.actions.append(.close)
  }

  private mutating func end(_ page: PageID, _ code: UInt16, _ reason: String, _ output: inout GatewayOutput) {
    guard pages.removeValue(forKey: page) != nil else { return }
    output.actions.append(.end(page, code: code, reason: reason))
  }
}
