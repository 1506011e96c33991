public import Foundation

extension Peer {
  /// What a peer keeps beyond the end of the program.
  /// ```swift
  /// let peer = try Peer(name: "kiosk", keeping: .file("/var/lib/kiosk/keep"))
  /// ```
  /// In a file: the writes without an outcome, and the committed values of its models. The next peer with the same file
  /// shows those values immediately, with or without a hub, and its pending writes over them; it sends the writes, and
  /// catches up by a delta. See `docs/reference/outbox-format.md`.
  public struct Keeping: Sendable, Hashable {
    /// Where writes without an outcome are kept, and values if there are `prefixes`.
    public var outbox: OutboxStorage
    /// The models whose values are kept: those below one of these prefixes (`"shop/"`; `""`: all) or with one of these
    /// ids. Empty: none.
    public var prefixes: [String]
    /// A model whose names and values have more bytes is not kept.
    public var maxModelBytes = 4_194_304
    /// The most bytes of names and values that are kept. Beyond, the models that were not complete for the longest time
    /// are dropped.
    public var maxBytes = 67_108_864

    /// Nothing: writes without an outcome end with the program, and a start without a hub shows defaults.
    public static let memory = Keeping(outbox: .memory)

    /// Writes and values, in the file at this path, for one process at a time.
    /// - Parameters:
    ///   - durability: what a write survives once it was made. With `.disk`, what shows after a loss of power is never
    ///     older than a write whose outcome was reported.
    ///   - prefixes: whose values are kept.
    public static func file(
      _ path: String, durability: OutboxStorage.Durability = .process, only prefixes: [String] = [""]
    ) -> Keeping {
      Keeping(outbox: .file(path, durability: durability), prefixes: prefixes)
    }

    /// Writes and values, in the file at this URL, for one process at a time.
    public static func file(
      _ url: URL, durability: OutboxStorage.Durability = .process, only prefixes: [String] = [""]
    ) -> Keeping {
      file(url.path, durability: durability, only: prefixes)
    }

    /// Writes there, and the values of the models below these prefixes.
    public init(outbox: OutboxStorage, prefixes: [String] = []) {
      (self.outbox, self.prefixes) = (outbox, prefixes)
    }
  }
}

extension Peer.Keeping {
  /// Which replicas are kept; nil: none.
  var choice: KeepChoice? {
    guard case .file(_, let durability) = outbox, !prefixes.isEmpty else { return nil }
    return KeepChoice(prefixes: prefixes, defersOutcomes: durability == .disk)
  }

  /// Opens the file, and locks it for this process; nil: there is none.
  func open() throws(OutboxError) -> OutboxFile? {
    guard case .file(let path, let durability) = outbox else { return nil }
    return try OutboxFile.open(path, durability: durability, keepsReplicas: choice != nil)
  }
}
