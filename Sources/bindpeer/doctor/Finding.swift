import BindingPeer

/// One line of `doctor`: what was looked at, what was seen, and what to do.
struct Finding: Equatable {
  enum Grade: String {
    case good = "ok"
    case doubtful = "warn"
    case bad
  }

  let grade: Grade
  let subject: String
  let words: String
  /// Nil: nothing.
  let cure: String?

  init(_ grade: Grade, _ subject: String, _ words: String, cure: String? = nil) {
    (self.grade, self.subject, self.words, self.cure) = (grade, subject, words, cure)
  }

  /// - Parameter version: as libzmq prints it, `4.3.4`.
  static func libzmq(_ version: String, hasEncryption: Bool) -> Finding {
    let numbers = version.split(separator: ".").compactMap { Int($0) }
    guard numbers.count >= 2, (numbers[0], numbers[1]) >= (4, 3) else {
      return Finding(.bad, "libzmq", "\(version) is too old", cure: "Install libzmq 4.3 or later")
    }
    guard hasEncryption else {
      return Finding(
        .doubtful, "libzmq", "\(version) cannot encrypt, so no hub with keys is reached over tcp://",
        cure: "Install a libzmq that is built with libsodium")
    }
    return Finding(.good, "libzmq", "\(version), with encryption")
  }

  /// - Parameter own: that of this program.
  static func grammar(_ capabilities: [String], own: String) -> Finding {
    let hubs = capabilities.filter { $0.hasPrefix("draft-") }
    guard !hubs.contains(own) else { return Finding(.good, "protocol", "the hub speaks this program's \(own)") }
    let words = hubs.first.map { "\($0), and this program \(own)" } ?? "no draft that it names"
    return Finding(
      .doubtful, "protocol", "the hub speaks \(words): some commands may fail",
      cure: "Install the same release of bindhub and bindpeer")
  }

  /// - Parameter milliseconds: by how much the hub's clock is ahead of this machine's.
  static func clock(aheadBy milliseconds: Int64) -> Finding {
    let seconds = (Double(abs(milliseconds)) / 1_000).formatted(places: 1)
    guard abs(milliseconds) > 2_000 else { return Finding(.good, "clock", "that of the hub, to 2 s") }
    return Finding(
      .doubtful, "clock", "the hub's is \(seconds) s \(milliseconds > 0 ? "ahead of" : "behind") this machine's",
      cure: "Synchronise both clocks: --since and the times of history are by the hub's")
  }

  /// - Parameter free: bytes.
  static func space(_ subject: String, _ path: String, free: Int) -> Finding {
    let megabytes = free / 1_000_000
    guard megabytes < 100 else { return Finding(.good, subject, "\(path), \(megabytes) MB free") }
    return Finding(
      megabytes < 1 ? .bad : .doubtful, subject, "\(path) has \(megabytes) MB left", cure: "Make room on that disk")
  }

  /// - Parameter count: how many this program may open.
  static func openFiles(_ count: Int) -> Finding {
    guard count < 256 else { return Finding(.good, "files", "this shell may open \(count)") }
    return Finding(.doubtful, "files", "this shell may open \(count), and a hub needs 256", cure: "ulimit -n 1024")
  }

  func print(asJSON: Bool) {
    if asJSON {
      Terminal.print(
        .object([
          .init("check", .string(subject)), .init("state", .string(grade.rawValue)), .init("words", .string(words)),
          .init("cure", cure.map(JSON.string) ?? .null),
        ]))
    } else {
      Terminal.print(PrintedText.escaped("\(grade.rawValue.padding(to: 4))  \(subject.padding(to: 9))  \(words)"))
      if let cure { Terminal.print(PrintedText.escaped("                 \(cure)")) }
    }
  }
}
