/// Where a hub keeps its commits. `BindingStore` makes one of a file; a hub without one keeps them as long as it runs.
public struct HubStore: Sendable {
  /// Opens the store, on the thread of the hub that starts.
  package let open: @Sendable () throws(StoreError) -> any Store

  package init(_ open: @escaping @Sendable () throws(StoreError) -> any Store) { self.open = open }
}
