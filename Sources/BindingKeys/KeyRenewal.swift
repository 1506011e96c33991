import BindingProtocol
import Foundation
package import ZeroMQ

/// The change of this user's own pair for a hub. The hub adds the new key beside the old one, the new one is tried, the
/// file changes, and the hub ends the old one. After each step the pair in the file is in force, and a change that was
/// interrupted is finished by the next.
extension KnownHub {
  /// What a renewal did.
  package struct Renewal: Hashable, Sendable {
    /// The member's name at the hub.
    package var member: String
    /// The key of before, which is nobody's now.
    package var old: PublicKey
    package var new: PublicKey
  }

  /// Changes the pair for a hub, or finishes the change that was interrupted. Blocks the calling thread.
  /// - Parameters:
  ///   - label: the machine that holds the key, in its own words.
  ///   - milliseconds: how long to wait at each address.
  /// - Throws: `RenewalError`; programs reach the hub as before then.
  package static func renewKeys(
    for name: String, label: String, in directory: String = KnownHub.directory, milliseconds: Int = 5_000
  ) throws(RenewalError) -> Renewal {
    let result: Result<Renewal, RenewalError>
    do throws(KeyError) {
      let path = try keyPath(name, in: directory)
      _ = try KnownHub(named: name, in: directory)
      result = try PrivateFile.exclusively(in: directory) { () throws(KeyError) -> Result<Renewal, RenewalError> in
        let renewal = KeyRenewal(try KnownHub(named: name, in: directory), path, milliseconds)
        return Result { () throws(RenewalError) in try renewal.run(Names.fittingPeer(label)) }
      }
    } catch {
      throw .key(error)
    }
    return try result.get()
  }
}

/// Why a pair was not changed. The description names the cure.
package enum RenewalError: Error, Hashable, Sendable, CustomStringConvertible {
  case key(KeyError)
  /// No hub answered at any encrypted address.
  case unreachable([String])
  /// Whoever answers has none of the keys that are trusted here.
  case otherKey(address: String, hub: String)
  /// The hub does not know the key in the file.
  case revoked(hub: String)
  /// The hub does not know how a member changes its key.
  case tooOld(hub: String)
  /// The hub refused, in its own words.
  case refused(String)
  /// The system refused a socket.
  case system(String)

  package var description: String {
    switch self {
    case .key(let error): error.description
    case .unreachable(let addresses):
      addresses.isEmpty
        ? "The hub is known by no tcp:// address, and only there keys count"
        : "No hub answers at \(addresses.joined(separator: " or ")). Check that it runs, and try again"
    case .otherKey(let address, let hub):
      "What answers at \(address) hung up: it may have another key than the one that is trusted here. If the hub's key "
        + "has changed:  bindpeer trust \(hub) KEY"
    case .revoked(let hub):
      "The hub \(hub) refuses this user's key: it was revoked, or kicked for a time. Wait, or get an invitation:  "
        + "bindpeer join"
    case .tooOld(let hub):
      "The hub \(hub) is of a release in which members cannot change their keys. Ask for an invitation, and use it:  "
        + "bindpeer join"
    case .refused(let text): PrintedText.escaped(text)
    case .system(let problem): problem
    }
  }
}

/// One renewal, with the files of one hub.
private struct KeyRenewal {
  private let hub: KnownHub
  /// The file of the pair; the next one is beside it while it is not in force.
  private let path: String
  private let milliseconds: Int
  private var nextPath: String { path + ".next" }

  init(_ hub: KnownHub, _ path: String, _ milliseconds: Int) {
    (self.hub, self.path, self.milliseconds) = (hub, path, milliseconds)
  }

  func run(_ label: String) throws(RenewalError) -> KnownHub.Renewal {
    // The new pair is in the file already: all that is left is the end of the old one.
    if let old = try replaced() { return try retire(old, with: hub.keys) }
    let new = try nextPair()
    let enrolment = Enrolment(key: new.publicKey, label: label)
    do throws(RenewalError) {
      _ = try ask(enrolment.frame, with: hub.keys)
    } catch {
      // The old key may have been revoked since the new one was added.
      guard case .revoked = error, (try? ask(nil, with: new)) != nil else { throw error }
    }
    _ = try ask(nil, with: new)
    try files { () throws(KeyError) in try PrivateFile.move(nextPath, to: path) }
    return try retire(hub.keys.publicKey, with: new)
  }

  /// The key that the pair in the file replaced, and that may still be in force.
  private func replaced() throws(RenewalError) -> PublicKey? {
    try files { () throws(KeyError) in
      try KeyFile.content(.peer, at: path).notes["replaces"]?.string.flatMap { PublicKey($0) }
    }
  }

  private func nextPair() throws(RenewalError) -> KeyPair {
    try files { () throws(KeyError) in
      let replaces = JSON.Member("replaces", .string("\(hub.keys.publicKey)"))
      do throws(KeyError) {
        return try KeyFile.create(.peer, at: nextPath, notes: [replaces])
      } catch .exists {
        let (keys, notes) = try KeyFile.content(.peer, at: nextPath)
        guard notes["replaces"] == replaces.value else {
          // Left by a change to a pair that is not in force any more.
          _ = try PrivateFile.remove(nextPath)
          return try KeyFile.create(.peer, at: nextPath, notes: [replaces])
        }
        return keys
      }
    }
  }

  private func retire(_ old: PublicKey, with new: KeyPair) throws(RenewalError) -> KnownHub.Renewal {
    let member = try ask(Retirement(key: old).frame, with: new)
    try files { () throws(KeyError) in try KeyFile.write(new, .peer, to: path, notes: [], replaces: true) }
    return KnownHub.Renewal(member: member, old: old, new: new.publicKey)
  }

  /// Asks the hub, at each address and as each of its keys.
  /// - Parameter frame: nil: only whether it lets the pair in.
  /// - Returns: the member's name, as far as the hub told it.
  @discardableResult
  private func ask(_ frame: [UInt8]?, with own: KeyPair) throws(RenewalError) -> String {
    let addresses = hub.addresses.filter { $0.transport == .tcp }.map(\.description)
    var problem: RenewalError?
    nextAddress: for address in addresses {
      // Twice: a hub that ends other connections may end this one by mistake, in the middle of its handshake.
      for key in hub.hubKeys + hub.hubKeys {
        let result: HubCall.Result
        do throws(ZeroMQError) {
          result = try HubCall(to: address, server: key, own: own).ask(frame, milliseconds: milliseconds)
        } catch {
          throw .system("\(error)")
        }
        switch result {
        case .open: return ""
        case .answered(.enrolled(let name)): return name
        case .answered(.refused(let text)): throw .refused(text)
        case .unknown: throw .revoked(hub: hub.name)
        case .tooOld: throw .tooOld(hub: hub.name)
        case .hungUp: problem = .otherKey(address: address, hub: hub.name)
        // Nothing listens there, whatever the key.
        case .silent: continue nextAddress
        }
      }
    }
    throw problem ?? .unreachable(addresses)
  }

  private func files<Value>(_ body: () throws(KeyError) -> Value) throws(RenewalError) -> Value {
    do throws(KeyError) { return try body() } catch { throw .key(error) }
  }
}
