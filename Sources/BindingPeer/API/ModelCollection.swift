public import BindingModel
import BindingProtocol

/// The models of one type below a prefix, existing and future ones, as a list or table shows them.
///
/// A model appears with its first commit and disappears when it is deleted. Safe on any thread; observers run on the
/// lane.
public final class ModelCollection<Shared: Model>: Sendable {
  /// The prefix of the models' ids.
  public let prefix: String
  private let peer: Peer
  private let lane: Lane
  /// Every model that was announced, with the observer that checks whether it still has fields.
  private let known: Protected<[String: (model: Shared, token: ObserverToken)]> = Protected([:])
  private let shown: Observable<[String]> = Observable([])
  private let token: Protected<ObserverToken?> = Protected(nil)

  init(peer: Peer, prefix: String, lane: Lane) throws(ShareError) {
    self.peer = peer
    self.prefix = prefix
    self.lane = lane
    let token = try peer.models(under: prefix) { [weak self] id in self?.appear(id) }
    self.token.withLock { $0 = token }
  }

  /// The ids of the models that exist, sorted.
  public var ids: [String] { shown.value }

  /// The models that exist, in the order of their ids.
  public var models: [Shared] {
    let ids = ids
    return known.withLock { known in ids.compactMap { known[$0]?.model } }
  }

  /// The model with this id; nil if none was announced.
  public subscript(id: String) -> Shared? { known.withLock { $0[id]?.model } }

  /// Observes the ids on the lane, now and when a model appears or disappears, until the token is cancelled or
  /// released. Where several come at once the body receives the newest ids. The first call comes before this returns
  /// if the caller is on the lane.
  public func observe(_ body: @escaping @Sendable ([String]) -> Void) -> ObserverToken {
    shown.observe(.latest(every: .zero), lane: lane, body)
  }

  /// The ids now, then the newest after each change.
  public var values: Values<[String]> { shown.values }

  /// Creates a model below the prefix and writes its defaults.
  /// - Parameter name: what follows the prefix in its id.
  @discardableResult
  public func create(_ name: String) async throws(ShareError) -> Shared {
    let model = try await peer.share(Shared.self, id: prefix + name, on: lane)
    keep(model, id: prefix + name)
    return model
  }

  /// Deletes a model everywhere.
  /// - Parameter name: what follows the prefix in its id.
  @discardableResult
  public func remove(_ name: String) throws -> PendingWrite {
    let model = try peer.model(prefix + name, on: lane)
    return try model.remove()
  }

  private func appear(_ id: String) {
    guard known.withLock({ $0[id] == nil }) else { return }
    guard let (model, _) = try? peer.attach(Shared.self, id: id, on: lane) else { return }
    keep(model, id: id)
  }

  private func keep(_ model: Shared, id: String) {
    guard let shared = model.shared else { return }
    let token = shared.observe { [weak self] _, _ in self?.look(at: id) }
    known.withLock { if $0[id] == nil { $0[id] = (model, token) } }
    look(at: id)
  }

  /// Updates whether a model exists: it does while it has a field.
  private func look(at id: String) {
    guard let shared = known.withLock({ $0[id]?.model })?.shared else { return }
    shown.update { ids in
      // Looked at in here: of two threads that look at once, the one that saw less must not be the later to write.
      let exists = !shared.values.isEmpty
      guard exists != ids.contains(id) else { return }
      if exists { ids = (ids + [id]).sorted() } else { ids.removeAll { $0 == id } }
    }
  }
}
