import Foundation

/// Changes a second that reach the slowest subscriber, while a writer keeps as many in flight as a hub allows.
struct Throughput {
  let kind: Contender
  let subscribers: Int
  let batch: Int
  let seconds: Double

  func measure() throws -> Double {
    let between = try Between(kind, .ipc)
    defer { between.end() }
    let writer = try Writer(kind, request: between.request, publish: between.publish, sessions: 4)
    let listening = try between.subscribers(subscribers, of: writer, samples: 0)
    defer { listening.end() }
    try writer.write(batch: batch, nanoseconds: UInt64(seconds * 1e9))
    let figures = try listening.line().split(separator: " ")
    return Double(figures[0]) ?? 0
  }
}

/// The time from a write to its arrival at a subscriber in another process, one write at a time.
struct Latency {
  let kind: Contender
  let transport: Transport
  let samples: Int

  func measure() throws -> Delays {
    let between = try Between(kind, transport)
    defer { between.end() }
    let writer = try Writer(kind, request: between.request, publish: between.publish, sessions: 1)
    let listening = try between.subscribers(1, of: writer, samples: samples)
    defer { listening.end() }
    for _ in 0..<samples + 50 {
      try writer.writeOne()
      // Between two writes all processes are idle, as when a person moves a control.
      usleep(300)
    }
    return try Delays(line: listening.line())
  }
}

/// The process between writer and subscribers, and its endpoints.
struct Between {
  let request: String
  let publish: String
  private let child: Child
  private let folder: String
  private let kind: Contender

  init(_ kind: Contender, _ transport: Transport) throws {
    self.kind = kind
    folder = try makeFolder()
    let endpoint = transport == .ipc ? "ipc://\(folder)/hub.sock" : "tcp://127.0.0.1:"
    switch kind {
    case .hub: child = try Child(["serve-hub", "--listen", transport == .ipc ? endpoint : endpoint + "0"])
    case .forwarder:
      child = try Child([
        "serve-forwarder", "--request", transport == .ipc ? endpoint : endpoint + "*", "--publish",
        transport == .ipc ? endpoint + ".pub" : endpoint + "*",
      ])
    }
    let addresses = try child.line().split(separator: " ").map(String.init)
    request = addresses[0]
    publish = addresses.count > 1 ? addresses[1] : ""
  }

  /// Starts subscribers to this writer's changes, and waits until they receive them.
  func subscribers(_ count: Int, of writer: Writer, samples: Int) throws -> Child {
    let child = try Child([
      "subscribe", "--to", writer.publish, "--count", "\(count)", "--topic",
      writer.prefix.map(String.init).joined(separator: ","), "--kind", kind.rawValue, "--samples", "\(samples)",
    ])
    _ = try child.line()
    // A subscription takes effect only once its connection is established.
    usleep(300_000)
    return child
  }

  func end() {
    child.end()
    try? FileManager.default.removeItem(atPath: folder)
  }
}
