package import BindingProtocol
import Dispatch

/// A log whose models are in several stores, its shards, as one store. `ShardRouter` has the rules. The positions in
/// its events are each those of one shard.
package final class ShardedStore: SharedStore {
  /// Opens a shard. It may block until the shard answers. One that is opened late names all models that are there: hubs
  /// which opened it earlier may have stored something in them.
  package typealias Opening = @Sendable (_ shard: ShardMap.Shard, _ isLate: Bool) throws(StoreError) -> any SharedStore

  package let logID: LogID
  package let epoch: Epoch
  package let maxBatchBytes: Int
  private let root: any SharedStore
  private let openShard: Opening
  private let state: HubLock<State>
  private let opening = DispatchQueue(label: "bindhub-shards", qos: .utility, attributes: .concurrent)
  /// How often the root is asked for its map while something waits for a change of it, milliseconds.
  private static let lookMilliseconds = 100
  /// A shard that does not open is tried again after this long, milliseconds.
  private static let retryMilliseconds = 1_000

  private struct State: Sendable {
    var router: ShardRouter
    var stores: [UInt16: any SharedStore]
    var deliver: (@Sendable (SharedEvent) -> Void)?
    /// What is to be delivered, and whether a thread does so now.
    var events: [SharedEvent] = []
    var isDelivering = false
    var isClosed = false
    var isLooking = false
    /// What to do about a shard that does not open.
    var troubles: [UInt16: String] = [:]
  }

  /// Opens all shards of a log that have models. Blocks until each answers.
  /// - Parameters:
  ///   - root: the store that has the map; it is closed by this one.
  ///   - map: the map as the root has it.
  /// - Throws: `StoreError` of the first shard that does not open.
  package init(_ root: any SharedStore, _ map: ShardMap, _ open: @escaping Opening) throws(StoreError) {
    (logID, epoch, self.root, openShard) = (root.logID, root.epoch, root, open)
    var stores: [UInt16: any SharedStore] = [ShardMap.root: root]
    do throws(StoreError) {
      let used = map.used
      for shard in map.shards where used.contains(shard.number) { stores[shard.number] = try open(shard, false) }
    } catch {
      for store in stores.values { store.close() }
      throw error
    }
    maxBatchBytes = stores.values.map(\.maxBatchBytes).min() ?? root.maxBatchBytes
    state = HubLock(State(router: ShardRouter(map, open: Set(stores.keys)), stores: stores))
  }

  /// The stores that are open, the root first.
  package var parts: [any SharedStore] {
    state.withLock { state in state.stores.sorted { $0.key < $1.key }.map(\.value) }
  }

  package var grade: SharedGrade { state.withLock { $0.stores.values.map(\.grade).min() ?? .memory } }

  package var status: SharedStoreStatus {
    let (map, stores, troubles) = state.withLock { ($0.router.map, $0.stores, $0.troubles) }
    var status = root.status
    let used = map.used
    for shard in map.shards where used.contains(shard.number) {
      let prefixes = map.entries.filter { $0.shard == shard.number }.map(\.prefix)
      guard let part = stores[shard.number]?.status else {
        status.isConnected = false
        status.shards.append(.init(address: shard.address, prefixes: prefixes, trouble: troubles[shard.number] ?? ""))
        continue
      }
      status.shards.append(
        .init(
          address: shard.address, prefixes: prefixes, isConnected: part.isConnected, bytes: part.bytes,
          quotaBytes: part.quotaBytes))
      status.add(part)
    }
    return status
  }

  package func begin(_ deliver: @escaping @Sendable (SharedEvent) -> Void) {
    let (stores, map) = state.withLock { state in
      state.deliver = deliver
      return (state.stores, state.router.map)
    }
    for (shard, store) in stores.sorted(by: { $0.key < $1.key }) { begin(store, shard) }
    for shard in map.shards where stores[shard.number] == nil { open(shard) }
  }

  private func begin(_ store: any SharedStore, _ shard: UInt16) {
    store.begin { [weak self] event in
      self?.handle { router, output in router.receive(event, from: shard, into: &output) }
    }
  }

  package func append(_ number: UInt64, _ batches: [SharedBatch]) { call(.append(number, batches)) }
  package func load(_ model: String) { call(.load(model)) }
  package func loadToFold(_ model: String, upTo record: UInt64) { call(.loadToFold(model, upTo: record)) }
  package func head(of model: String) { call(.head(of: model)) }
  package func sync(_ number: UInt64) { call(.sync(number)) }
  package func list(prefix: String, after: String, limit: Int) {
    call(.list(prefix: prefix, after: after, limit: limit))
  }
  package func fold(_ fold: SharedFold) { call(.fold(fold)) }
  package func history(_ query: HistoryQuery) { call(.history(query)) }

  package func close() {
    let stores = state.withLock { state in
      defer { (state.isClosed, state.stores, state.deliver, state.events) = (true, [:], nil, []) }
      return state.stores
    }
    for store in stores.values { store.close() }
    opening.sync(flags: .barrier) {}
  }

  // MARK: The router

  private func call(_ call: ShardCall) { handle { router, output in router.call(call, into: &output) } }

  private func handle(_ body: (inout ShardRouter, inout ShardRouter.Output) -> Void) {
    let (opened, looks) = state.withLock { state -> ([ShardMap.Shard], Bool) in
      guard !state.isClosed else { return ([], false) }
      var output = ShardRouter.Output()
      body(&state.router, &output)
      // Calls return at once, and are made under the lock to keep their order.
      for (shard, call) in output.calls { if let store = state.stores[shard] { call.carryOut(on: store) } }
      state.events += output.events
      let looks = state.router.isWaiting && !state.isLooking
      if looks { state.isLooking = true }
      return (output.opening, looks)
    }
    for shard in opened { open(shard) }
    if looks { look() }
    deliver()
  }

  /// Delivers what is to be delivered, unless another thread does.
  private func deliver() {
    while true {
      let next = state.withLock { state -> ([SharedEvent], @Sendable (SharedEvent) -> Void)? in
        guard !state.isDelivering, !state.events.isEmpty, let deliver = state.deliver else { return nil }
        defer { state.events.removeAll() }
        state.isDelivering = true
        return (state.events, deliver)
      }
      guard let (events, deliver) = next else { return }
      for event in events { deliver(event) }
      state.withLock { $0.isDelivering = false }
    }
  }

  /// Asks the root for its map while something waits for a change of it.
  private func look() {
    opening.asyncAfter(deadline: .now() + .milliseconds(ShardedStore.lookMilliseconds)) { [weak self] in
      self?.handle { router, output in router.look(into: &output) }
      let isOver = self?.state.withLock { state in
        if !state.router.isWaiting || state.isClosed { state.isLooking = false }
        return !state.isLooking
      }
      if isOver == false { self?.look() }
    }
  }

  /// Opens a shard that the map names since, as often as it takes.
  private func open(_ shard: ShardMap.Shard) {
    opening.async { [weak self] in
      guard let self, !state.withLock(\.isClosed) else { return }
      do throws(StoreError) {
        let store = try openShard(shard, true)
        let isClosed = state.withLock { state in
          if !state.isClosed { (state.stores[shard.number], state.troubles[shard.number]) = (store, nil) }
          return state.isClosed
        }
        if isClosed { return store.close() }
        begin(store, shard.number)
        handle { router, output in router.opened(shard.number, into: &output) }
      } catch {
        state.withLock { $0.troubles[shard.number] = error.description }
        opening.asyncAfter(deadline: .now() + .milliseconds(ShardedStore.retryMilliseconds)) { [weak self] in
          self?.open(shard)
        }
      }
    }
  }
}
