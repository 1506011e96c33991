import BindingKeys
import BindingProtocol
import Foundation
import Logging
import ZeroMQ

/// What a hub with keys protects its tcp endpoints with.
struct HubSecurity {
  /// The hub's own pair when it started.
  let keys: KeyPair
  /// Who may connect.
  let admissions: Admissions
  let files: HubKeys
  let log: Logger

  /// Reads the keys and the members.
  /// - Returns: nil if the hub is to have no keys.
  init?(_ configuration: Hub.Configuration, _ log: Logger) throws(HubError) {
    guard let directory = configuration.keys else { return nil }
    self.log = log
    files = HubKeys(in: directory)
    do throws(KeyError) { keys = try files.readForStart(at: Int64(Date().timeIntervalSince1970)).keys } catch {
      throw .keys(error.description)
    }
    admissions = try Admissions(files, own: keys.publicKey, log: log)
  }

  /// Writes down where members reach the hub, for the next invitation.
  func record(_ name: String, _ addresses: [HubAddress]) throws(HubError) {
    let encrypted = addresses.filter { $0.transport == .tcp }
    do throws(KeyError) {
      try files.record(HubKeys.Listening(name: name, addresses: encrypted))
    } catch {
      throw .keys(error.description)
    }
  }
}
