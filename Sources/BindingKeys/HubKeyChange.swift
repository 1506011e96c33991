import BindingProtocol
import Foundation
package import ZeroMQ

/// The change of a hub's key: the next pair is drawn and announced while the present one serves, and takes its place at
/// a moment. Each step is one renaming, so that whoever reads finds the one pair or the other.
extension HubKeys {
  /// The file of the next pair, while the key is being changed.
  package var nextKeyPath: String { directory + "/hub.key.next" }

  /// The pair that a hub is to have.
  package struct Next: Hashable, Sendable {
    package var keys: KeyPair
    /// When it takes the place of the present one, by the hub's clock, in seconds since 1970.
    package var moment: Int64
  }

  /// How long members have to learn the next key, unless somebody says otherwise: 30 days.
  package static let usualNotice: Int64 = 30 * 86_400

  /// The next pair.
  /// - Returns: nil if the key is not being changed.
  package func next() throws(KeyError) -> Next? {
    let content: (keys: KeyPair, notes: JSON)
    do throws(KeyError) { content = try KeyFile.content(.hub, at: nextKeyPath) } catch {
      if case .missing = error { return nil }
      throw error
    }
    guard let moment = content.notes["from"]?.int64 else {
      throw .malformed(path: nextKeyPath, problem: "does not say from when it counts")
    }
    return Next(keys: content.keys, moment: moment)
  }

  /// Draws the next pair, which takes the place of the present one at a moment in seconds since 1970.
  /// - Throws: `KeyError.changing` if there is one already.
  package func changeKey(at moment: Int64) throws(KeyError) -> Next {
    try PrivateFile.exclusively(in: directory) { () throws(KeyError) in
      _ = try read()
      if let next = try next() { throw .changing(to: next.keys.publicKey, at: next.moment) }
      let keys = try KeyFile.create(.hub, at: nextKeyPath, notes: [.init("from", .integer(moment))])
      return Next(keys: keys, moment: moment)
    }
  }

  /// Sets the moment of a change to the present. The next pair, which members may know, stays.
  /// - Parameter known: the change that is under way; nil: none is, and a pair is drawn.
  package func changeKey(_ known: Next?, now: Int64) throws(KeyError) -> Next {
    try PrivateFile.exclusively(in: directory) { () throws(KeyError) in
      // A running hub may have made the change since it was looked at.
      if let known, try read().publicKey == known.keys.publicKey { return known }
      if var next = try next() {
        next.moment = min(next.moment, now)
        try KeyFile.write(
          next.keys, .hub, to: nextKeyPath, notes: [.init("from", .integer(next.moment))], replaces: true)
        return next
      }
      return Next(
        keys: try KeyFile.create(.hub, at: nextKeyPath, notes: [.init("from", .integer(now))]), moment: now)
    }
  }

  /// Keeps the present key.
  /// - Throws: `KeyError.notChanging` if there is no next one, or it has taken its place already.
  package func cancelChange() throws(KeyError) {
    let isRemoved = try PrivateFile.exclusively(in: directory) { () throws(KeyError) in
      try PrivateFile.remove(nextKeyPath)
    }
    guard isRemoved else { throw .notChanging }
  }

  /// Lets the next pair take the place of the present one, whose secret is gone then.
  /// - Returns: whether it did: the change may have been cancelled, or another process have made it.
  package func completeChange(to key: PublicKey) throws(KeyError) -> Bool {
    try PrivateFile.exclusively(in: directory) { () throws(KeyError) in
      guard try next()?.keys.publicKey == key else { return try read().publicKey == key }
      try PrivateFile.move(nextKeyPath, to: keyPath)
      return true
    }
  }

  /// The pair that counts at a time in seconds since 1970, for a hub that starts: a change whose moment has passed is
  /// made first.
  package func readForStart(at now: Int64) throws(KeyError) -> (keys: KeyPair, next: Next?) {
    if let next = try next(), next.moment <= now { _ = try completeChange(to: next.keys.publicKey) }
    return (try read(), try next())
  }
}
