import BindingProtocol
package import ZeroMQ

/// Why an invitation did not make its bearer a member. The description names the cure.
package enum EnrolmentError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No hub answered at any address.
  case unreachable([String])
  /// The hub does not know the one-time key.
  case unknownInvitation(member: String)
  /// Somebody answered who is not the hub that invited.
  case otherKey(address: String)
  /// The hub refused, in its own words.
  case refused(String)
  /// The system refused a socket.
  case system(String)

  package var description: String {
    switch self {
    case .unreachable(let addresses):
      "No hub answers at \(addresses.joined(separator: " or ")). Check that it runs, and that this machine can reach it"
    case .unknownInvitation(let member):
      "The hub does not accept this invitation: it has been withdrawn or has expired. Ask for another:  "
        + "bindhub invite \(member)"
    case .otherKey(let address):
      "What answers at \(address) hung up: it may have another key than the hub that invited, because the hub's key "
        + "has changed since. Ask for another invitation"
    case .refused(let text): PrintedText.escaped(text)
    case .system(let problem): problem
    }
  }
}

extension Invitation {
  /// Asks the hub to make a key a member's. The same key may ask again, if the answer was lost. Blocks the calling
  /// thread.
  /// - Parameters:
  ///   - label: the machine that holds the key, in its own words.
  ///   - milliseconds: how long to wait at each address.
  /// - Returns: the member's name.
  package func enrol(_ key: PublicKey, label: String, milliseconds: Int = 5_000) throws(EnrolmentError) -> String {
    var problem: EnrolmentError?
    for address in addresses {
      let result: HubCall.Result
      do throws(ZeroMQError) {
        let call = try HubCall(to: "\(address)", server: hubKey, own: try KeyPair(of: secret))
        result = try call.ask(Enrolment(key: key, label: label).frame, milliseconds: milliseconds)
      } catch {
        throw .system("\(error)")
      }
      switch result {
      case .answered(.enrolled(let name)): return name
      case .answered(.refused(let text)): throw .refused(text)
      case .unknown: throw .unknownInvitation(member: member)
      // Another machine may have the address by now: the hub may answer at the next one.
      case .hungUp: problem = .otherKey(address: "\(address)")
      case .silent, .open, .tooOld: break
      }
    }
    throw problem ?? .unreachable(addresses.map(\.description))
  }
}
