import BindingPeer
import BindingTerminal
import Foundation

/// Implements `ls --peers`: lists the peers that have joined a model, or each model under a prefix.
struct PeerList {
  let common: CommonOptions

  func show(_ address: Address) async throws {
    guard address.field == nil else { throw Failure(.usage, "ls --peers needs a model or a prefix, not a field") }
    let peer = try await common.connect()
    var ids = [address.model]
    if address.isPrefix {
      guard let models = await peer.list(address.model, timeout: common.timeout.duration) else {
        throw Failure(.timedOut, "The list of models did not arrive within \(common.timeout.milliseconds) ms.")
      }
      ids = models.filter { $0.fields > 0 }.map(\.id).sorted()
    }
    var count = 0
    for id in ids {
      let presence = try await peer.presence(in: id, timeout: common.timeout.duration)
      guard await presence.whenCurrent(timeout: .zero) else {
        throw presence.refusal.map(Failure.init)
          ?? Failure(
            .timedOut,
            "The peers in \(id) did not arrive within \(common.timeout.milliseconds) ms; an older hub cannot list them."
          )
      }
      // Read once: a peer may leave meanwhile.
      let peers = presence.peers
      for present in peers { print(present, in: id) }
      count += peers.count
    }
    if count == 0, !common.json {
      throw Failure(.no, "No peer is in \(address.isPrefix ? "any of these models" : address.model).")
    }
    await peer.close(flush: .zero)
  }

  private func print(_ peer: PresentPeer, in model: String) {
    let name = Origin(tag: peer.tag, name: peer.name).fullName
    let since = UInt64(peer.since.timeIntervalSince1970 * 1_000)
    if common.json {
      Terminal.print(
        .object([
          .init("model", .string(model)), .init("peer", .string(name)), .init("name", .string(peer.name)),
          .init("tag", .string(peer.tag.description)), .init("since", .integer(Int64(clamping: since))),
          .init("says", peer.announcement ?? .null),
        ]))
    } else {
      let announcement = peer.announcement.map { "  \(Terminal.readable(FieldValue(json: $0)))" } ?? ""
      Terminal.print("\(model)  \(name)  since \(Terminal.clock(since))\(announcement)")
    }
  }
}
