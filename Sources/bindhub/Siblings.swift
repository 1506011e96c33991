import ArgumentParser
import BindingHub
import BindingProtocol

/// Names the other hubs of the same log.
struct Siblings: ParsableArguments {
  @Option(
    name: .long,
    help: """
      Address at which peers reach another hub of the same log, such as tcp://10.0.0.6:7877. Repeatable, or separated \
      by commas; at most 32. Peers of this hub learn them, and go there when it ends. This hub's own address may be \
      among them.
      """)
  var sibling: [String] = []

  /// The addresses; ends the program with 64 if one is none to which a peer could connect.
  /// - Parameter own: those of this hub.
  func addresses(besides own: [HubAddress]) -> [HubAddress] {
    var found: [HubAddress] = []
    for text in sibling {
      do throws(HubAddressError) {
        for address in try HubAddress.list(text) where !own.contains(address) && !found.contains(address) {
          guard address.isReachable else {
            fail("--sibling \(address): peers cannot connect to that. Name one host and port, or an absolute path", 64)
          }
          found.append(address)
        }
      } catch {
        fail("\(error)", 64)
      }
    }
    guard found.count <= OtherHubs.most else {
      fail("--sibling names \(found.count) hubs; at most \(OtherHubs.most) are told to peers", 64)
    }
    return found
  }
}
