#if Etcd
  public import BindingHub

  extension HubStore {
    /// A log in etcd 3.4 or later. The first hub that opens an address makes the log there.
    ///
    /// Opening fails with a `StoreError` in one sentence with its cure: no node answers within `openTimeout`, a user,
    /// password or certificate is wanted or wrong, the user may not write below the prefix, the version is too old, or
    /// the keys are of a newer format.
    public static func etcd(_ address: EtcdAddress, _ options: EtcdOptions = EtcdOptions()) -> HubStore {
      HubStore(shared: { () throws(StoreError) in try EtcdStore.withShards(address, options) })
    }
  }
#endif
