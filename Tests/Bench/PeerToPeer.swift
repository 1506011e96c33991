import ArgumentParser
import BindingPeer
import BindingProtocol
import Foundation

/// A model of 16 fields, as a program declares one.
struct Sixteen: Model {
  @Field var f0 = ""
  @Field var f1 = ""
  @Field var f2 = ""
  @Field var f3 = ""
  @Field var f4 = ""
  @Field var f5 = ""
  @Field var f6 = ""
  @Field var f7 = ""
  @Field var f8 = ""
  @Field var f9 = ""
  @Field var f10 = ""
  @Field var f11 = ""
  @Field var f12 = ""
  @Field var f13 = ""
  @Field var f14 = ""
  @Field var f15 = ""

  var all: [SharedField<String>] {
    [$f0, $f1, $f2, $f3, $f4, $f5, $f6, $f7, $f8, $f9, $f10, $f11, $f12, $f13, $f14, $f15]
  }
}

/// The writer of the full stack: assigns to the fields in turn, as fast as possible without superseding an unsent
/// write.
struct PeerWrites: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "peer-writes", shouldDisplay: false)
  @Option var request: String
  @Option var bytes = 32
  @Option var fields = 16
  @Option var batch = 1
  @Option var seconds = 1.0
  @Option var rate = 0.0

  /// Writes without an outcome at most; a hub allows 256.
  private static let most = 224
  private static let timeout: UInt64 = 60_000_000_000

  func validate() throws {
    guard fields == 16, batch == 1, rate == 0, bytes >= Stamp.leastBytes, seconds > 0 else {
      throw ValidationError("--fields takes 16, --batch 1, --rate 0, --bytes 32 or more")
    }
  }

  func run() throws {
    let shared = try Shared<Sixteen>(request)
    let model = try shared.model
    let all = model.all
    // Finding the shared model takes a look at the model's fields.
    guard let sharedModel = model.shared else { throw NothingShared() }
    report("ready")
    guard readLine() != nil else { return }
    let start = now()
    let end = start + UInt64(seconds * 1e9)
    var text = StampText(bytes)
    var sent: UInt64 = 0
    func assign(to field: SharedField<String>, isLast: Bool = false) {
      sent += 1
      text.set(Stamp(time: now(), number: sent, isLast: isLast))
      // The quotes belong to the encoded value.
      field.value = String(decoding: text.bytes.dropFirst().dropLast(), as: UTF8.self)
    }
    while now() < end {
      for field in all { assign(to: field) }
      try wait { sharedModel.status.isSent(below: Self.most) }
    }
    try wait { sharedModel.status.unconfirmed == 0 }
    assign(to: all[0], isLast: true)
    try wait { sharedModel.status.unconfirmed == 0 }
    report("{\"sent\":\(sent),\"seconds\":\(Double(now() - start) / 1e9)}")
  }

  private func wait(until isSo: () -> Bool) throws {
    let end = now() + Self.timeout
    while !isSo() {
      guard now() < end else { throw Publish.NotAcknowledged() }
      usleep(20)
    }
  }
}

extension ModelStatus {
  /// Whether everything written is in flight, and at most `most` writes.
  fileprivate func isSent(below most: Int) -> Bool { unconfirmed <= min(inFlight, most) }
}

/// The observers of the full stack: one for each field, notified of every commit.
struct PeerSees: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "peer-sees", shouldDisplay: false)
  @Option var request: String
  @Option var count = 1
  @Option var rate = 0.0

  func run() throws {
    let peers = try (0..<count).map { _ in try Shared<Sixteen>(request) }
    let seen = peers.map { _ in Watched() }
    let tokens = try zip(peers, seen).flatMap { peer, watched in
      try peer.model.all.map { field in
        field.observe(.everyChange(limit: 100_000)) { value in watched.record(value) }
      }
    }
    report("ready")
    Listen.wait(for: { Arrivals(seen.map(\.present)) }, listen: { usleep(100_000) })
    report(Listen.figures(of: seen.map(\.present)))
    withExtendedLifetime((peers, tokens)) {}
  }
}

/// What a peer's observers have seen, on its own thread.
private final class Watched: @unchecked Sendable {  // SAFETY: `seen` is touched only while `lock` is held
  private var seen = Seen(isTimed: false)
  private let lock = NSLock()

  func record(_ value: String) {
    var value = value
    lock.withLock { value.withUTF8 { seen.record(UnsafeRawBufferPointer($0), withoutQuotes: true) } }
  }

  var present: Seen { lock.withLock { seen } }
}
