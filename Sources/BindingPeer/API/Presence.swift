public import BindingModel
public import BindingProtocol
public import Foundation

/// Who is in a model now: `let here = await lamp.presence()`.
///
/// It looks, and tells the others what `announce` says, as long as somebody holds it.
public final class Presence: Sendable {
  private let ephemeral: SharedModel
  private let published: Observable<[PresentPeer]>
  private let token = Protected<ObserverToken?>(nil)
  private let tracked = TrackedReads<[PresentPeer]>()

  init(of ephemeral: SharedModel) {
    self.ephemeral = ephemeral
    published = Observable(PresentPeer.all(in: ephemeral))
    let watching = ephemeral.observe { [weak self] update, missed in
      // Other fields of the line, a cursor say, may change often.
      if missed > 0 || update.changes.contains(where: { $0.field.hasPrefix(Names.presencePrefix) }) {
        self?.lookAgain()
      }
    }
    token.withLock { $0 = watching }
  }

  /// Who is there, by when they came. A peer that does not answer any more goes when its lease ends. It is tracked as a
  /// field's value is.
  public var peers: [PresentPeer] {
    ReadTracking.current == .nobody ? PresentPeer.all(in: ephemeral) : tracked.read { PresentPeer.all(in: ephemeral) }
  }

  /// Hears who is there now and at each change, on the model's lane, until the token is cancelled or released.
  public func observe(_ body: @escaping @Sendable ([PresentPeer]) -> Void) -> ObserverToken { published.observe(body) }

  /// Like `observe`, for as long as `owner` lives; the owner is not kept alive.
  @discardableResult
  public func observe(
    on owner: AnyObject, _ body: @escaping @Sendable ([PresentPeer]) -> Void
  ) -> ObserverToken {
    published.observe(on: owner, body)
  }

  /// Who is there, as a sequence: now, and the newest at each change.
  public var values: Values<[PresentPeer]> { published.values }

  /// Lets the others know something of this peer: a status, a cursor, a colour. The newest stands; nil takes it back.
  /// - Throws: `WriteError` if it cannot be laid over. The outcome tells whether the hub took it: half of
  ///   `maxValueBytes` is the most.
  @discardableResult
  public func announce(json value: JSON?) throws(WriteError) -> PendingWrite {
    let value = value.map { FieldValue(json: $0) }
    return try ephemeral.write(
      Proposal(operations: [FieldOperation(value == nil ? .delete : .set, Names.me, value)]))
  }

  /// The same for one of the types that fields can have.
  @discardableResult
  public func announce(_ value: some FieldCodable) throws(WriteError) -> PendingWrite {
    try announce(json: value.fieldJSON)
  }

  /// Waits until it can tell who is there; false when `timeout` passes first, the task is cancelled, or the hub does
  /// not let this peer look: then `refusal` says why.
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

  /// Why the hub does not let this peer look; nil if it does. It is asked again every few seconds.
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
  public var tag: Tag
  /// As it calls itself; need not be unique.
  public var name: String
  /// When it came, on the hub's clock.
  public var since: Date
  /// What it said of itself last.
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

  /// Whether this peer itself has been told of: then so has everybody who came before it.
  static func isIn(_ session: borrowing Session, id: String) -> Bool {
    let tag = session.identity.tag
    return session.shownValues(id).contains {
      $0.key.hasPrefix(Names.presencePrefix) && PresentPeer($0.value)?.tag == tag
    }
  }
}

extension SharedModel {
  /// Who is in this model. It returns when that is known; without a hub after `timeout`, in a task that is cancelled
  /// at once, and looks on.
  public func presence(timeout: Duration = .seconds(1)) async -> Presence {
    let presence = Presence(of: ephemeral)
    _ = await presence.whenCurrent(timeout: timeout)
    return presence
  }
}

extension Peer {
  /// Who is in a model, for a peer that only looks: it is not told of itself, and cannot say anything there.
  /// - Throws: `ShareError` if the id is not a model's, or this peer has stopped.
  public func presence(in id: String, timeout: Duration = .seconds(1)) async throws(ShareError) -> Presence {
    do throws(WireError) { try Names.checkModel(id) } catch { throw .badID(error) }
    if case .stopped(let reason) = status.phase { throw .stopped(reason) }
    let presence = Presence(of: join(SharedModel(id: Names.ephemeral(id), lane: .direct, peer: self)))
    _ = await presence.whenCurrent(timeout: timeout)
    return presence
  }
}

extension Model {
  /// Who is in this model, as `SharedModel.presence`.
  /// - Throws: `FieldError` if it is not shared.
  public func presence(timeout: Duration = .seconds(1)) async throws(FieldError) -> Presence {
    guard let shared else { throw .notShared(field: "\(Self.self)") }
    return await shared.presence(timeout: timeout)
  }
}
