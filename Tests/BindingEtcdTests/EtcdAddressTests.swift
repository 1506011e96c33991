#if Etcd
  import BindingHub
  import Testing

  @testable import BindingEtcd

  @Suite("An address of etcd")
  struct EtcdAddressTests {
    @Test("names nodes, a prefix and TLS")
    func reads() throws {
      let address = try EtcdAddress("etcd://127.0.0.1:2379,[::1]:2381,node/shop/one/")
      #expect(address.endpoints.map(\.description) == ["127.0.0.1:2379", "[::1]:2381", "node:2379"])
      #expect(address.prefix == "shop/one" && !address.usesTLS)
      #expect(address.description == "etcd://127.0.0.1:2379,[::1]:2381,node:2379/shop/one")
      #expect(try EtcdAddress("etcds://a:1").usesTLS)
      #expect(try EtcdAddress("etcd://a:1").prefix == "bindbus")
    }

    @Test(
      "that is wrong is explained",
      arguments: [
        ("http://a:1", "write etcd://"), ("etcd://", "an address is empty"), ("etcd://a:1,,b:2", "an address is empty"),
        ("etcd://a:0", "a:0 is not HOST:PORT"), ("etcd://a:70000", "a:70000 is not"), ("etcd://::1:3", "in brackets"),
        ("etcd://[::1:3", "lacks the ]"), ("etcd://u:p@a:1", "name the user and a password file"),
        ("etcd://a:1/b c", "no spaces"),
      ])
    func explains(_ text: String, _ words: String) {
      let error = #expect(throws: EtcdAddress.ParseError.self) { _ = try EtcdAddress(text) }
      #expect(error?.description.contains(words) ?? false, "\(error?.description ?? "")")
      #expect(error?.description.hasPrefix(text) ?? false)
    }

    @Test(
      "versions that sync first are told from those that may not",
      arguments: [
        ("3.4.20", false), ("3.4.21", true), ("3.4.23", true), ("3.5.0", false), ("3.5.5", false), ("3.5.6", true),
        ("3.6.0-rc.1", true),
      ])
    func versions(_ text: String, _ syncs: Bool) {
      #expect(EtcdVersion(text)?.syncsFirst == syncs)
      #expect(EtcdVersion("three") == nil)
    }

    @Test(
      "the room follows what is used, and says what to do",
      arguments: [
        (60, 60, "", SharedRoom.enough, ""), (75, 75, "", .scarce, ""), (86, 86, "", .full, "remove models"),
        (75, 91, "", .full, "remove models"), (60, 91, "", .enough, ""), (60, 96, "", .onlyRemovals, "defragment"),
        (
          60, 60, "alarm:NOSPACE ", .onlyRemovals, "etcdctl --endpoints a:1 compact REVISION, defrag, then alarm disarm"
        ),
      ])
    func room(_ used: UInt64, _ held: UInt64, _ alarm: String, _ room: SharedRoom, _ words: String) throws {
      var writer = ProtobufWriter()
      writer.number(3, held)
      writer.bytes(8, Array(alarm.utf8))
      writer.number(9, used)
      let found = EtcdUpkeep.room(try EtcdStatus(writer.bytes[...]), quota: 100, try EtcdAddress("etcd://a:1"))
      #expect(found.0 == room && found.1.contains(words), "\(found)")
    }

    @Test("the end of a range is after all keys that begin so, and before all others")
    func ends() {
      let keys = EtcdKeys("b")
      #expect(EtcdKeys.end(of: [1, 0xff, 0xff]) == [2])
      #expect(EtcdKeys.end(of: [0xff]) == [0])
      let (a, other) = (keys.records("a"), keys.record("a/0000000000000001", 1))
      #expect(a.lexicographicallyPrecedes(keys.record("a", .max)))
      #expect(keys.record("a", .max).lexicographicallyPrecedes(EtcdKeys.end(of: a)))
      #expect(!other.lexicographicallyPrecedes(EtcdKeys.end(of: a)))
      #expect(keys.model(ofHead: keys.head("x/y")) == "x/y")
    }
  }
#endif
