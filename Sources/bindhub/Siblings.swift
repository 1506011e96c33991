import ArgumentParser
import BindingEdge
import BindingHub
import BindingKeys
import BindingPeer
import BindingProtocol
import Foundation
import Logging

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

  /// The ways to them, over which the hub follows their peers' ephemeral fields and presence. Hubs of one log have one
  /// pair of keys, by which they know each other.
  /// - Parameter directory: of the hub's keys; nil: it has none.
  func links(to addresses: [HubAddress], keys directory: String?, name: String, log: Logger) -> [HubUpstream] {
    let pair = directory.map { directory in
      keyed { () throws(KeyError) in
        try HubKeys(in: directory).readForStart(at: Int64(Date().timeIntervalSince1970)).keys
      }
    }
    return addresses.map { address in
      let route = pair.map { HubRoute(to: address, as: $0) } ?? HubRoute(to: address)
      return EdgeUplink.upstream(by: route, name: name, log: log)
    }
  }
}
