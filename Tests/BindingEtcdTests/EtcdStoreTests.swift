#if Etcd
  import BindingHub
  import BindingProtocol
  import EtcdServer
  import Foundation
  import StoreContract
  import Testing

  @testable import BindingEtcd

  @Suite("A shared store in etcd", .serialized)
  struct EtcdStoreTests {
    @Test("keeps the contract, through a way that delays, loses and cuts", arguments: SharedStoreContract.all)
    func contract(_ check: SharedStoreContract) throws {
      let bench = EtcdBench(try EtcdServer())
      defer { bench.close() }
      try check.run(bench)
    }
  }
#endif
