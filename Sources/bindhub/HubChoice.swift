import ArgumentParser
import BindingProtocol

/// Selects the running hub to query.
struct HubChoice: ParsableArguments {
  @Option(name: .long, help: "Address of the hub. Default: $BINDPEER_HUB, else this user's default address.")
  var hub: String?

  /// Its address; ends the program with 64 if the given text is not an address.
  func address() -> HubAddress {
    do throws(HubAddressError) {
      return if let hub { try HubAddress(hub) } else { try HubAddress.fromEnvironment().first ?? .userDefault }
    } catch {
      fail("\(error)", 64)
    }
  }

  func noAnswer(at address: HubAddress, to verb: String) -> String {
    "No hub answers at \(address).\nStart one:  bindhub serve\(hub == nil ? "" : " --listen \(address)")        "
      + "Or name one:  bindhub \(verb) --hub tcp://host:7877"
  }
}
