import ArgumentParser
import BindingKeys
import BindingProtocol

/// Selects the running hub to query.
struct HubChoice: ParsableArguments {
  @Option(
    name: .long,
    help: "Address of the hub, or the name of one that was joined. Default: $BINDPEER_HUB, else this user's default.")
  var hub: String?

  /// Its address; ends the program with 64 if the given text is not an address.
  func address() -> HubAddress {
    do throws(HubAddressError) {
      return if let hub { try HubAddress(hub) } else { try HubAddress.fromEnvironment().first ?? .userDefault }
    } catch {
      fail("\(error)", 64)
    }
  }

  /// Its addresses, best first, and what this user knows of it if it is a name; ends the program if it is neither.
  func places() -> (addresses: [HubAddress], member: KnownHub?) {
    guard let name = hub ?? HubAddress.namedInEnvironment, KnownHub.isName(name) else { return ([address()], nil) }
    let known = keyed { () throws(KeyError) in try KnownHub(named: name) }
    return (known.addresses, known)
  }

  /// What to say of a hub that refuses, in its words.
  static func refusal(_ text: String) -> String { "The hub refuses: \(text). Ask who runs it for that right." }

  func noAnswer(at address: HubAddress, to verb: String, as member: KnownHub? = nil) -> String {
    if let member {
      return "The hub \(member.name) does not answer at \(address), or it refuses this user's key.\n"
        + "To learn which:  bindpeer --hub \(member.name) ping"
    }
    return "No hub answers at \(address).\nStart one:  bindhub serve\(hub == nil ? "" : " --listen \(address)")        "
      + "Or name one:  bindhub \(verb) --hub tcp://host:7877"
  }
}
