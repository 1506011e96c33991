public import BindingModel
public import BindingProtocol
public import Foundation

/// The peers that are in a model now: `let here = await lamp.presence()`.
///
/// While it is referenced, it follows the peers that are there and announces this one to them.
public final class Presence: Sendable {
  private let ephemeral: SharedModel
  private let published: Observable<[PresentPeer]>
  private let token = Protected<ObserverToken?>(nil)
  private let tracked = TrackedReads<[PresentPeer]>()

  init(of ephemeral: SharedModel) {
    self.ephemeral = ephemeral
    published = Observable(PresentPeer.all(in: ephemeral))
    let watching = ephemeral.observe { [weak self] update, missed in
      // Other ephemeral fields, a cursor for example, may change often.
      if missed > 0 || update.changes.contains(where: { $0.field.hasPrefix(Names.presencePrefix) }) {
        self?.lookAgain()
      }
    }
    token.withLock { $0 = watching }
  }

  /// The peers that are there, in order of arrival. A peer that no longer answers disappears when its lease ends.
  /// Reads are tracked like those of a field's value.
  public var peers: [PresentPeer] {
    ReadTracking.current == .nobody ? PresentPeer.all(in: ephemeral) : tracked.read { PresentPeer.all(in: ephemeral) }
  }

  /// Observes the peers, now and at each change, on the model's lane, until the token is cancelled or released.
  public func observe(_ body: @escaping @Sendable ([PresentPeer]) -> Void) -> ObserverToken { published.observe(body) }

  /// Observes the peers, now and at each change, on the model's lane while `owner` lives, which is held weakly.
  @discardableResult
  public func observe(
    on owner: AnyObject, _ body: @escaping @Sendable ([PresentPeer]) -> Void
  ) -> ObserverToken {
    published.observe(on: owner, body)
  }

  /// The peers as a sequence: now, and the newest at each change.
  public var values: Values<[PresentPeer]> { published.values }

  /// Announces something about this peer to the others, as JSON: a status, a cursor, a colour. The newest replaces
  /// earlier ones; nil takes it back.
  /// - Throws: `WriteError` if it cannot be overlaid. The outcome says whether the hub accepted it: half of
  ///   `maxValueBytes` is the limit.
  @discardableResult
  public func announce(json value: JSON?) throws(WriteError) -> PendingWrite {
    let value = value.map { FieldValue(json: $0) }
    return try ephemeral.write(
      Proposal(operations: [FieldOperation(value == nil ? .delete : .set, Names.me, value)]))
  }

  /// Announces something about this peer to the others, as a value of a type that fields can have.
  /// - Throws: `WriteError` if it cannot be overlaid.
  @discardableResult
  public func announce(_ value: some FieldCodable) throws(WriteError) -> PendingWrite {
    try announce(json: value.fieldJSON)
  }

  /// Waits until the peers are known. Returns false when `timeout` passes first, the task is cancelled, or the hub
  /// does not let this peer look: then `refusal` says why.
  public func whenCurrent(timeout: Duration) async -> Bool {
    let (id, isMember) = (ephemeral.id, ephemeral.stored != nil)
    _ = await ephemeral.runtime.wait(timeout: timeout) { state in
      state.session.syncState(of: id).refusal != nil || Presence.isCurrent(in: state.session, id, isMember: isMember)
    }
    return ephemeral.runtime.state.withLock { Presence.isCurrent(in: $0.session, id, isMember: isMember) }
  }

  private static func isCurrent(in session: borrowing Session, _ id: String, isMember: Bool) -> Bool {
    session.isCurrent(id) && (!isMember || PresentPeer.isIn(session, id: id))
  }

  /// Why the hub does not let this peer look; nil if it does. The peer asks again every few seconds.
  public var refusal: JoinRefusal? { ephemeral.status.refusal }

  private func lookAgain() {
    let peers = PresentPeer.all(in: ephemeral)
    published.value = peers
    tracked.invalidate()
    tracked.notify(peers)
  }
}

/// A peer that is in a model.
public struct PresentPeer: Sendable, Hashable {
  /// The tag under which the peer writes.
  public var tag: Tag
  /// The peer's own name; need not be unique.
  public var name: String
  /// When it arrived, by the hub's clock.
  public var since: Date
  /// What it announced last; nil: nothing.
  public var announcement: JSON?

  init?(_ value: FieldValue) {
    guard let json = value.jsonIfValid, case .string(let tag)? = json["tag"], let tag = Tag(tag),
      case .string(let name)? = json["name"], case .integer(let since)? = json["since"]
    else { return nil }
    self.tag = tag
    self.name = name
    self.since = Date(timeIntervalSince1970: Double(since) / 1_000)
    announcement = json["says"]
  }

  static func all(in ephemeral: SharedModel) -> [PresentPeer] {
    ephemeral.values.compactMap { $0.key.hasPrefix(Names.presencePrefix) ? PresentPeer($0.value) : nil }
      .sorted { ($0.since, $0.name, $0.tag) < ($1.since, $1.name, $1.tag) }
  }

  /// Whether this peer's own presence has arrived: then so has that of all peers before it.
  static func isIn(_ session: borrowing Session, id: String) -> Bool {
    let tag = session.identity.tag
    return session.shownValues(id).contains {
      $0.key.hasPrefix(Names.presencePrefix) && PresentPeer($0.value)?.tag == tag
    }
  }
}

extension SharedModel {
  /// The peers in this model. Returns when they are known; without a hub after `timeout`, in a cancelled task
  /// immediately, and follows them from then on.
  public func presence(timeout: Duration = .seconds(1)) async -> Presence {
    let presence = Presence(of: ephemeral)
    _ = await presence.whenCurrent(timeout: timeout)
    return presence
  }
}

extension Model {
  /// The peers in this model. Returns when they are known; without a hub after `timeout`, in a cancelled task
  /// immediately, and follows them from then on.
  /// - Throws: `FieldError` if the model is not shared.
  public func presence(timeout: Duration = .seconds(1)) async throws(FieldError) -> Presence {
    guard let shared else { throw .notShared(field: "\(Self.self)") }
    return await shared.presence(timeout: timeout)
  }
}
