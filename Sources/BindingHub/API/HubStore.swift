/// Where a hub keeps its commits. `BindingStore` makes one of a file, `BindingEtcd` one that several hubs share in
/// etcd; a hub without one keeps them as long as it runs.
public struct HubStore: Sendable {
  /// How a store is opened, on the thread of the hub that starts.
  package enum Opening: Sendable {
    /// The hub alone writes to it.
    case own(@Sendable () throws(StoreError) -> any Store)
    /// Other hubs write to it too. It blocks until the engine answers.
    case shared(@Sendable () throws(StoreError) -> any SharedStore)
  }
  /// How it is opened.
  package let opening: Opening

  /// A store of one hub.
  package init(_ open: @escaping @Sendable () throws(StoreError) -> any Store) { opening = .own(open) }

  /// A store that several hubs share.
  package init(shared open: @escaping @Sendable () throws(StoreError) -> any SharedStore) { opening = .shared(open) }
}
