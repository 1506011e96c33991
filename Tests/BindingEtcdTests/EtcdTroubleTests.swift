#if Etcd
  import BindingHub
  import BindingProtocol
  import EtcdServer
  import Foundation
  import StoreContract
  import Testing

  @testable import BindingEtcd

  /// A store that is not on a bench.
  func open(_ server: EtcdServer, prefix: String = "b", _ change: (inout EtcdOptions) -> Void = { _ in }) throws -> (
    EtcdStore, SharedStoreClient
  ) {
    var options = EtcdOptions()
    options.openTimeout = .seconds(20)
    change(&options)
    let store = try EtcdStore(try EtcdAddress("etcd://\(server.addresses)/\(prefix)"), options)
    return (store, SharedStoreClient(store) { usleep(2_000) })
  }

  @Suite("Trouble with etcd is one sentence with its cure", .serialized)
  struct EtcdTroubleTests {
    private func failure(_ body: () throws -> Void) -> String {
      do {
        try body()
        return "nothing failed"
      } catch {
        return "\(error)"
      }
    }

    @Test("no node answers")
    func absent() throws {
      let port = try FreePorts.find(1)[0]
      var options = EtcdOptions()
      options.openTimeout = .milliseconds(300)
      let text = failure { _ = try EtcdStore(try EtcdAddress("etcd://127.0.0.1:\(port)"), options) }
      #expect(text.contains("no node of etcd://127.0.0.1:\(port)/bindbus answers"), "\(text)")
      #expect(text.contains("nobody listens there") && text.contains("start etcd"), "\(text)")
    }

    @Test("keys of a newer format, and damaged ones")
    func newer() throws {
      let server = try EtcdServer()
      try server.put(EtcdKeys("b").log, [2, 0, 0])
      let text = failure { _ = try open(server) }
      #expect(text.contains("has format 2, and this build reads format 1: update it"), "\(text)")
      try server.put(EtcdKeys("b").log, [1, 0, 0])
      #expect(failure { _ = try open(server) }.contains("the log's identity in etcd cannot be read"))
    }

    @Test("no hub opens a log whose restore was interrupted; the next restore begins again")
    func interrupted() throws {
      let server = try EtcdServer()
      let address = try EtcdAddress("etcd://\(server.addresses)/b")
      var writer = ModelWriter("lamp", 1)
      func restore(_ epoch: Epoch = 7 << 32 | 1, _ body: (EtcdStore) throws(StoreError) -> Void) throws {
        try EtcdStore.restore(logID: 77, epoch: epoch, to: address, EtcdOptions(), body)
      }
      #expect(
        failure {
          try restore { store throws(StoreError) in
            let client = SharedStoreClient(store) { usleep(2_000) }
            do { try writer.write("1", client) } catch { throw StoreError("\(error)") }
            throw StoreError("the power fails")
          }
        } == "the power fails")
      #expect(failure { _ = try open(server) }.contains("a log is being restored to etcd://"))
      #expect(failure { try restore(8 << 32 | 1) { _ in } }.contains("has a log already, 4d"))
      try restore(7 << 32 | 2) { _ in }
      let (store, client) = try open(server)
      defer { store.close() }
      #expect(store.logID == 77 && store.epoch == 7 << 32 | 1)
      #expect(try client.load("lamp").stored == nil && client.list("", page: 10).isEmpty)
      #expect(failure { try restore { _ in } }.contains("has a log already"))
    }

    @Test("another log, or none, is there while a hub runs")
    func otherLog() throws {
      let server = try EtcdServer()
      let (store, client) = try open(server)
      defer { store.close() }
      var writer = ModelWriter("lamp", 1)
      try writer.write("1", client)
      try server.put(EtcdKeys("b").log, EtcdValue.write(EtcdValue.Log(logID: 77, epoch: store.epoch)))
      _ = client.submit([writer.next("2")])
      let error = try client.wait("failed") { if case .failed(let error) = $0 { error } else { nil } }
      #expect(error.description.contains("another log is in") && error.kind == .replaced, "\(error)")
    }

    @Test("a user is wanted, unknown, or may only read")
    func users() throws {
      let server = try EtcdServer()
      let password = server.folder.appendingPathComponent("password").path
      try Data("secret\n".utf8).write(to: URL(fileURLWithPath: password))
      try server.control("user", "add", "root:root")
      try server.control("user", "grant-role", "root", "root")
      try server.control("user", "add", "hub:secret")
      try server.control("role", "add", "hubs")
      try server.control("role", "grant-permission", "hubs", "--prefix=true", "read", "b/")
      try server.control("user", "grant-role", "hub", "hubs")
      try server.control("auth", "enable")
      #expect(failure { _ = try open(server) }.contains("etcd wants a user, and the hub has none"))
      let wrong = server.folder.appendingPathComponent("wrong").path
      try Data("guess\n".utf8).write(to: URL(fileURLWithPath: wrong))
      #expect(
        failure { _ = try open(server) { ($0.user, $0.passwordFile) = ("hub", wrong) } }.contains(
          "etcd does not know the user hub with the password in \(wrong)"))
      #expect(
        failure { _ = try open(server) { ($0.user, $0.passwordFile) = ("hub", "/none") } }.contains(
          "cannot be read from /none"))
      #expect(failure { _ = try open(server) { $0.user = "hub" } }.contains("needs a file with the password"))
      let text = failure { _ = try open(server) { ($0.user, $0.passwordFile) = ("hub", password) } }
      #expect(text.contains("may not read and write below b/ in etcd: etcdctl role grant-permission"), "\(text)")
    }

    @Test("tokens that end and roles that change are not noticed by a hub")
    func tokens() throws {
      let server = try EtcdServer(flags: { _ in ["--auth-token-ttl", "2"] })
      let password = server.folder.appendingPathComponent("password").path
      try Data("secret".utf8).write(to: URL(fileURLWithPath: password))
      try server.control("user", "add", "root:root")
      try server.control("user", "grant-role", "root", "root")
      try server.control("user", "add", "hub:secret")
      try server.control("role", "add", "hubs")
      try server.control("role", "grant-permission", "hubs", "--prefix=true", "readwrite", "b/")
      try server.control("user", "grant-role", "hub", "hubs")
      try server.control("auth", "enable")
      let (store, client) = try open(server) {
        ($0.user, $0.passwordFile, $0.tokenLife) = ("hub", password, .seconds(300))
      }
      let (reading, reader) = try open(server) {
        ($0.user, $0.passwordFile, $0.tokenLife) = ("hub", password, .seconds(2))
      }
      defer {
        store.close()
        reading.close()
      }
      var writer = ModelWriter("lamp", 1)
      let deadline = Date() + 8
      var number: UInt64 = 0
      while Date() < deadline {
        for _ in 0..<20 {
          number += 1
          try writer.insist("\(number)", client)
        }
        if number % 60 == 0 { try server.control("role", "add", "other-\(number)", user: "root:root") }
        // Longer than a token that is not used lives.
        if number == 60 { usleep(4_000_000) }
      }
      let last = number
      try reader.wait(until: "the last record") { reader.followed.contains { $0.batch.record == last } }
      #expect(try client.head(of: "lamp").record == last)
    }

    @Test("certificates are wanted, wrong, or right")
    func certificates() throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bindetcd-tls-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
      let script = """
        set -e; cd '\(folder.path)'
        for ca in ca other; do
          openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=$ca \
            -keyout $ca.key -out $ca.pem
        done
        printf 'subjectAltName=IP:127.0.0.1\\n' > san
        for name in node hub; do
          openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name \
            -keyout $name.key -out $name.csr
          openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san -out $name.pem
        done
        """
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", script]
      process.standardError = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0, "openssl makes no certificates")
      let server = try EtcdServer(
        flags: { _ in
          [
            "--cert-file", path("node.pem"), "--key-file", path("node.key"), "--client-cert-auth", "--trusted-ca-file",
            path("ca.pem"),
          ]
        }, scheme: "https")
      func open(_ change: (inout EtcdOptions) -> Void) throws -> EtcdStore {
        var options = EtcdOptions()
        options.openTimeout = .seconds(1)
        change(&options)
        return try EtcdStore(try EtcdAddress("etcds://\(server.addresses)/b"), options)
      }
      // Until the node listens, another sentence is right.
      var store: EtcdStore?
      let deadline = Date() + 20
      while store == nil, Date() < deadline {
        store = try? open { ($0.ca, $0.certificate, $0.key) = (path("ca.pem"), path("hub.pem"), path("hub.key")) }
      }
      let opened = try #require(store)
      defer { opened.close() }
      let client = SharedStoreClient(opened) { usleep(2_000) }
      var writer = ModelWriter("lamp", 1)
      try writer.write("1", client)
      let untrusted = failure { _ = try open { $0.ca = path("other.pem") } }
      #expect(untrusted.contains("its certificate is not trusted: name the CA"), "\(untrusted)")
      let nameless = failure { _ = try open { $0.ca = path("ca.pem") } }
      #expect(nameless.contains("it wants a client certificate"), "\(nameless)")
      #expect(failure { _ = try open { $0.ca = "/none" } }.contains("/none has no certificate that can be read"))
      let swapped = failure {
        _ = try open { ($0.ca, $0.certificate, $0.key) = (path("ca.pem"), path("hub.pem"), path("node.key")) }
      }
      #expect(swapped.contains("do not belong together"), "\(swapped)")
    }
  }
#endif
