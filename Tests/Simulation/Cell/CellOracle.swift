import BindingHub
import BindingProtocol

/// What must hold of hubs that share a log, beyond what must hold of one hub: records have no holes and times never go
/// back, whichever hub writes; and a join is answered with no less than its peer has seen anywhere, and with no less
/// than was acknowledged anywhere before a new process said hello.
final class CellOracle: Invariant {
  /// What a join says of its peer.
  private struct Claim {
    let epoch: Epoch
    let version: Version
    let decided: ProposalNumber
  }
  private struct Asked: Hashable {
    let session: SessionID
    let request: UInt32
  }
  private struct Known: Hashable {
    let start: StartNumber
    let tag: Tag
  }
  @exclusivity(unchecked) private var records: [String: UInt64] = [:]
  @exclusivity(unchecked) private var times: [String: UInt64] = [:]
  /// The last version of each model that a writer was told.
  @exclusivity(unchecked) private var acknowledged: [String: Version] = [:]
  /// By session: what was acknowledged when its process said hello to a hub for the first time.
  @exclusivity(unchecked) private var floors: [SessionID: [String: Version]] = [:]
  @exclusivity(unchecked) private var known: Swift.Set<Known> = []
  @exclusivity(unchecked) private var claims: [Asked: Claim] = [:]

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .stored(let batch, _): try enter(batch)
    case .epochBegins(let hub): throw Violation(.order, "\(hub) begins an epoch of a log that several hubs share")
    case .received(let frame, let peer, _): receive(frame, of: peer)
    case .sent(let frame, .outcomes, _, let hub): acknowledge(frame, at: hub)
    case .sent(let frame, .joined, _, let hub): try answer(frame, at: hub)
    default: break
    }
  }

  private func enter(_ batch: Batch) throws(Violation) {
    let last = records[batch.model] ?? 0
    guard batch.record == last + 1 else {
      throw Violation(.order, "record \(batch.record) of \(batch.model) follows record \(last)")
    }
    records[batch.model] = batch.record
    // What is made again begins anew.
    if batch.form == .removal { times[batch.model] = nil }
    guard !batch.body.isEmpty, let group = try? CommitGroup.decode(batch.body) else { return }
    let time = times[batch.model] ?? 0
    guard group.time >= time else {
      throw Violation(
        .order, "version \(batch.version) of \(batch.model) is \(time - group.time) ms before the last one")
    }
    times[batch.model] = group.time
  }

  private func receive(_ frame: [UInt8], of peer: SimulatedPeer) {
    guard let kind = frame.first.flatMap(PeerMessageKind.init(rawValue:)), kind == .hello || kind == .join,
      let (header, message) = try? PeerMessage.decode(frame)
    else { return }
    switch message {
    case .hello(let hello):
      let isNew = known.insert(Known(start: peer.hub.start, tag: hello.identity.tag)).inserted
      floors[header.session] = isNew ? acknowledged : nil
    case .join(let joins):
      for join in joins where join.form == .model {
        claims[Asked(session: header.session, request: join.request)] = Claim(
          epoch: join.epoch, version: join.version, decided: max(join.unacknowledged, 1) - 1)
      }
    default: break
    }
  }

  private func acknowledge(_ frame: UnsafeRawBufferPointer, at hub: SimulatedHub) {
    guard case (_, .outcomes(let sent))? = try? HubMessage.decode(frame) else { return }
    for outcome in sent.outcomes {
      guard case .committed(let count, let version) = outcome.rest, let model = hub.name(of: outcome.topic) else {
        continue
      }
      acknowledged[model] = max(acknowledged[model] ?? 0, version + Version(count) - 1)
    }
  }

  private func answer(_ frame: UnsafeRawBufferPointer, at hub: SimulatedHub) throws(Violation) {
    guard case (_, .joined(let joined))? = try? HubMessage.decode(frame), !Names.isEphemeral(joined.model) else {
      return
    }
    // A hub that is cut from the log says so.
    let isUpToDate = hub.read { $0.isUpToDate } ?? false
    if isUpToDate, let floor = floors[joined.session]?[joined.model], joined.version < floor {
      throw Violation(
        .soundJoin,
        "\(hub) gives a new process version \(joined.version) of \(joined.model); \(floor) was acknowledged")
    }
    guard let claim = claims[Asked(session: joined.session, request: joined.request)] else { return }
    if claim.epoch == joined.epoch, joined.version < claim.version {
      throw Violation(
        .soundJoin, "\(hub) gives version \(joined.version) of \(joined.model) to a peer that has \(claim.version)")
    }
    if joined.lastDecided < claim.decided {
      throw Violation(
        .soundJoin,
        "\(hub) has decided \(joined.lastDecided) numbers of a peer in \(joined.model), which has "
          + "\(claim.decided) outcomes")
    }
  }
}
