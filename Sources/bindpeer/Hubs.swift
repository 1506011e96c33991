import ArgumentParser
import BindingKeys
import BindingPeer
import BindingTerminal

/// Lists the hubs that this user has joined.
struct Hubs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the hubs that this user has joined, and which of them answer.",
    discussion: "bindpeer join adds one. Exit code 1: none is known.")

  @OptionGroup var common: CommonOptions
  @Flag(name: .customLong("no-ask"), help: "Print what is known, and connect to none.")
  var asksNone = false
  @Option(name: .long, help: "Forget this hub and the key for it. To come back, this user needs an invitation.")
  var forget: String?

  func validate() throws {
    if common.hub != nil { throw ValidationError("hubs is about all hubs. Omit --hub") }
  }

  mutating func run() async throws {
    if let forget {
      try keyed { try KnownHub.forget(forget) }
      if !common.json { Terminal.print("\(forget) is forgotten") }
      return
    }
    let names = KnownHub.names()
    guard !names.isEmpty else { throw Failure(.no, "No hub is known. Join one:  bindpeer join") }
    var states: [String: String] = [:]
    if !asksNone {
      let common = common
      states = await withTaskGroup(of: (String, String).self) { group in
        for name in names { group.addTask { (name, await Hubs.state(of: name, common)) } }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
    }
    let width = names.map(\.count).max() ?? 0
    for name in names {
      let places = (try? KnownHub(named: name).addresses.map(\.description)) ?? []
      if common.json {
        Terminal.print(
          .object([
            .init("hub", .string(name)), .init("addresses", .array(places.map(JSON.string))),
            .init("state", states[name].map(JSON.string) ?? .null),
          ]))
      } else {
        let state = states[name].map { "  \($0)" } ?? ""
        Terminal.print("\(name.padding(to: width))  \(places.joined(separator: ","))\(state)")
      }
    }
  }

  /// In words: of a hub that answers, or why it cannot be used.
  private static func state(of name: String, _ common: CommonOptions) async -> String {
    do throws(Failure) {
      let peer = try common.makePeer(common.name, at: .named(name))
      let isLive = await peer.whenLive(timeout: common.timeout.duration)
      let status = peer.status
      await peer.close(flush: .zero)
      if isLive { return "live" + (status.durability.map { ", durability \($0)" } ?? "") }
      if case .stopped(let reason) = status.phase { return PrintedText.escaped(reason.words) }
      return status.refusal.map { "refused: \($0)" } ?? "silent"
    } catch {
      return PrintedText.escaped(error.text.prefix { $0 != "\n" }.description)
    }
  }
}
