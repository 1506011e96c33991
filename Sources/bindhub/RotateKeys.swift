import ArgumentParser
import BindingKeys
import BindingTerminal
import Foundation
import ZeroMQ

extension Keys {
  /// Changes the hub's key.
  struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change the hub's key at a moment that all members are told of before.",
      discussion: """
        Draws the next pair and prints its public key. A running hub tells it to all members that are connected, and to
        others when they connect; at the moment named new connections expect it, and those that are open go on. A hub
        that does not run then changes the key at its next start. Members that were away all the time trust the new key
        by hand:  bindpeer trust NAME KEY
        """)

    @Option(name: .customLong("in"), help: "How long members have to learn the next key, such as 12h or 30d.")
    var notice = TimeSpan(seconds: UInt64(HubKeys.usualNotice))

    @Flag(name: .customLong("now"), help: "Change it at once, also if a change is under way.")
    var isNow = false

    @Flag(name: .long, help: "Keep the present key, and forget the next one.")
    var cancel = false

    @OptionGroup var choice: KeysChoice

    func validate() throws {
      if isNow, cancel { throw ValidationError("--now and --cancel exclude each other") }
      if !(1_000...TimeSpan(seconds: 3_660 * 86_400).milliseconds).contains(notice.milliseconds) {
        throw ValidationError("--in must be from 1s to 3660d. To change the key at once:  --now")
      }
    }

    func run() throws {
      let keys = choice.keys
      if cancel { return keyed { () throws(KeyError) in try keys.cancelChange() } }
      let next = keyed { () throws(KeyError) in
        guard isNow else { return try keys.changeKey(at: now + Int64(notice.milliseconds / 1_000)) }
        return try keys.changeKey(try keys.next(), now: now)
      }
      print("\(next.keys.publicKey)")
      let option = choice.option
      let time = isNow ? "now, or when the hub starts" : "at \(date(next.moment))"
      StandardStreams.complain(
        """
        The hub's key becomes this one \(time); members that are connected before then learn it from the hub.
        Others trust it by hand:  bindpeer trust NAME '\(next.keys.publicKey)'
        """)
      if !isNow { StandardStreams.complain("To keep the present one:  bindhub keys rotate --cancel\(option)") }
      sayWhichInvitationsEnd(keys, at: next.moment)
    }

    /// They name the present key.
    private func sayWhichInvitationsEnd(_ keys: HubKeys, at moment: Int64) {
      let members = keyed { () throws(KeyError) in try MembersFile(at: keys.membersPath) }.members
      let names = members.invitations.values.filter { $0.usedBy == nil && $0.until > max(moment, now) }.map(\.name)
      guard !names.isEmpty else { return }
      StandardStreams.complain(
        "Invitations that are not used by then end with the present key: "
          + Set(names).sorted().joined(separator: ", "))
    }
  }
}
