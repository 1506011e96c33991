/// Where several hubs keep one log together. `BindingEtcd` makes one of etcd.
public struct SharedHubStore: Sendable {
  /// Opens a handle of the log, on the thread of the hub that starts. It blocks until the engine answers.
  package let open: @Sendable () throws(StoreError) -> any SharedStore

  package init(_ open: @escaping @Sendable () throws(StoreError) -> any SharedStore) { self.open = open }
}
