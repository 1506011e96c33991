import ArgumentParser
import BindingHub
import BindingProtocol
import BindingTerminal
import Foundation

/// Ends a hub after its peers have gone to the others of its log.
struct Drain: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send the peers of a running hub to the other hubs of its log, then end it.",
    discussion: """
      The hub welcomes nobody any more, answers what its peers have written, and tells them where the other hubs are \
      (bindhub serve --sibling), 10 peers every 20 ms, or as many as half of --within needs. It ends once all have \
      gone, or when the time of --within is over. Exit codes: 0 the hub ends and all peers have gone, 69 no hub \
      answers, 74 the hub did not say how it ended, 75 peers were left, 76 the hub is too old, 77 the right admin is \
      missing, 78 the hub knows no other hub.
      """)

  @Argument(help: "Address of the hub, or the name of one that was joined. Default: as --hub.")
  var place: String?

  @OptionGroup var choice: HubChoice

  @Option(help: "When the hub ends even if peers are left, such as 10s or 5m; at most 1h.")
  var within = TimeSpan(seconds: 30)

  @Flag(help: "End the hub even if it knows no other one; its peers wait until it runs again.")
  var anyway = false

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func validate() throws {
    if place != nil, choice.hub != nil { throw ValidationError("Name the hub once, by --hub or alone") }
    if within.milliseconds > 3_600_000 { throw ValidationError("--within is at most 1h") }
  }

  func run() throws {
    var choice = choice
    choice.hub = place ?? choice.hub
    let (addresses, member) = choice.places()
    for address in addresses {
      do throws(HubDraining.DrainingError) {
        return show(
          try HubDraining.drain(
            address, as: member, within: .milliseconds(Int64(within.milliseconds)), isAnyway: anyway), address)
      } catch {
        if error != .noHub { fail(error.words(address), error.exitCode) }
      }
    }
    fail(choice.noAnswer(at: addresses[0], to: "drain", as: member), 69)
  }

  private func show(_ report: HubDraining.Report, _ address: HubAddress) {
    if json {
      print(
        JSON.object([
          .init("hub", .string(address.description)), .init("moved", .integer(Int64(report.moved))),
          .init("left", .integer(Int64(report.left))), .init("milliseconds", .integer(Int64(report.milliseconds))),
        ]).text)
    } else {
      print("\(address)  \(report.moved) peers have gone, in \(report.milliseconds) ms; the hub ends")
    }
    if report.left > 0 { fail("\(report.left) peers were left when the time was over.", 75) }
  }
}

extension HubDraining.DrainingError {
  fileprivate func words(_ address: HubAddress) -> String {
    switch self {
    case .noHub: "No hub answers at \(address)."
    case .hubTooOld: "The hub at \(address) is older than draining. End its process instead (SIGTERM)."
    case .refused(let text): "The hub refuses: \(text)."
    case .notPermitted(let text): "The hub refuses: \(text)."
    case .silent: "The hub at \(address) did not say how the draining ended. Is it gone?  bindhub status"
    }
  }

  fileprivate var exitCode: Int32 {
    switch self {
    case .noHub: 69
    case .silent: 74
    case .hubTooOld: 76
    case .notPermitted: 77
    case .refused: 78
    }
  }
}
