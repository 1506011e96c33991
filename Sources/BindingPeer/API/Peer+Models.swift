public import BindingModel
public import BindingProtocol
import Dispatch

/// A model below a prefix, as the hub announces it.
public struct ModelListing: Sendable, Hashable {
  /// The model's id.
  public var id: String
  /// The model's version when it was announced.
  public var version: Version
  /// The number of fields that have a value; 0: the model was deleted.
  public var fields: Int
}

extension Peer {
  /// The models below a prefix (`""`: all) that exist now. Returns nil if the hub does not answer within `timeout`,
  /// or the task is cancelled.
  public func list(_ prefix: String, timeout: Duration) async -> [ModelListing]? {
    let found = Protected<(models: [ModelListing], isComplete: Bool)>(([], false))
    let token = try? models(
      under: prefix, announced: { listing in found.withLock { $0.models.append(listing) } },
      listed: { found.withLock { $0.isComplete = true } })
    let isComplete = await runtime.wait(timeout: timeout) { _ in found.withLock { $0.isComplete } }
    token?.cancel()
    return isComplete ? found.withLock { $0.models } : nil
  }

  /// Calls `announced` with the id of each model below a prefix: existing ones, and later ones as they appear.
  /// - Throws: `ShareError` if the prefix is invalid (it must be empty or end in `/`), or this peer has stopped.
  public func models(
    under prefix: String, _ announced: @escaping @Sendable (_ id: String) -> Void
  ) throws(ShareError) -> ObserverToken {
    try models(under: prefix, announced: { announced($0.id) }, listed: {})
  }

  func models(
    under prefix: String, announced: @escaping @Sendable (ModelListing) -> Void, listed: @escaping @Sendable () -> Void
  ) throws(ShareError) -> ObserverToken {
    do throws(WireError) { try Names.checkPrefix(prefix) } catch { throw .badID(error) }
    let listener = PrefixListener { event in
      switch event {
      case .model(let id, let version, let fields): announced(ModelListing(id: id, version: version, fields: fields))
      case .listed: listed()
      case .pong: break
      }
    }
    try runtime.perform { state, now throws(ShareError) in
      if case .stopped(let reason) = state.session.phase { throw .stopped(reason) }
      state.listeners.add(listener, to: prefix)
      state.session.joinPrefix(prefix, now: now, into: &state.effects)
    }
    return ObserverToken { [runtime] in
      runtime.perform { state, _ in
        if state.listeners.remove(listener, from: prefix) { state.session.leavePrefix(prefix) }
      }
    }
  }

  /// The peers in a model, for a peer that only looks: it is not listed itself, and cannot announce anything there.
  /// - Throws: `ShareError` if the id is not a model's, or this peer has stopped.
  public func presence(in id: String, timeout: Duration = .seconds(1)) async throws(ShareError) -> Presence {
    do throws(WireError) { try Names.checkModel(id) } catch { throw .badID(error) }
    if case .stopped(let reason) = status.phase { throw .stopped(reason) }
    let presence = Presence(of: join(SharedModel(id: Names.ephemeral(id), lane: .direct, peer: self)))
    _ = await presence.whenCurrent(timeout: timeout)
    return presence
  }

  /// Measures the round trip to the hub. Returns nil if the hub does not answer within `timeout`, or the task is
  /// cancelled.
  public func ping(timeout: Duration) async -> Duration? {
    let token = UInt64.random(in: 1 ... .max)
    let hasCome = Protected(false)
    let listener = PrefixListener { event in
      if case .pong(token) = event { hasCome.withLock { $0 = true } }
    }
    let begin = DispatchTime.now().uptimeNanoseconds
    runtime.perform { state, now in
      state.listeners.add(listener, to: PrefixListener.pongs)
      state.session.ping(token, now: now, into: &state.effects)
    }
    let answered = await runtime.wait(timeout: timeout) { _ in hasCome.withLock { $0 } }
    let end = DispatchTime.now().uptimeNanoseconds
    runtime.perform { state, _ in _ = state.listeners.remove(listener, from: PrefixListener.pongs) }
    return answered ? .nanoseconds(Int64(clamping: end - begin)) : nil
  }
}
