import ArgumentParser
import BindingEtcd
import BindingHub
import BindingProtocol
import Foundation

/// How to reach the etcd that `--store etcd://…` names.
struct EtcdChoice: ParsableArguments {
  @Option(
    name: .customLong("etcd-ca"),
    help: "With etcds://: certificate of the CA that signed etcd's, PEM. Default: those that the system trusts.")
  var ca: String?

  @Option(
    name: .customLong("etcd-cert"),
    help: "Client certificate for etcd, PEM. Its common name is the user, if etcd has users.")
  var certificate: String?

  @Option(name: .customLong("etcd-key"), help: "Key of the client certificate, PEM.")
  var key: String?

  @Option(name: .customLong("etcd-user"), help: "etcd's user, if etcd has users.")
  var user: String?

  @Option(name: .customLong("etcd-password-file"), help: "File whose first line is that user's password.")
  var passwordFile: String?

  @Option(
    name: .customLong("etcd-quota"),
    help: "Bytes that etcd may use, if its metrics do not tell (--quota-backend-bytes).")
  var quota: UInt64?

  /// Whether anything was chosen.
  var isEmpty: Bool {
    [ca, certificate, key, user, passwordFile].allSatisfy { $0 == nil } && quota == nil
  }

  func validate() throws {
    if (certificate == nil) != (key == nil) { throw ValidationError("--etcd-cert and --etcd-key go together") }
    if (user == nil) != (passwordFile == nil) {
      throw ValidationError("--etcd-user and --etcd-password-file go together")
    }
  }

  /// Whether a store is a log in etcd.
  static func isAddress(_ store: String?) -> Bool {
    store?.hasPrefix("etcd://") == true || store?.hasPrefix("etcds://") == true
  }

  /// The log at this address. Ends the program if it is none, or if there is no etcd in this build.
  func store(at text: String) -> HubStore {
    #if Etcd
      return .etcd(address(text), options)
    #else
      failWithoutEtcd()
    #endif
  }

  /// Copies the log at this address: `copy` is given its id, its epoch and what passes every model. Hubs may go on.
  func read(
    from text: String,
    _ copy: (LogID, Epoch, ((StoredModel) throws(StoreError) -> Void) throws(StoreError) -> Void) throws(StoreError)
      -> Void
  ) throws(StoreError) {
    #if Etcd
      let store = try EtcdStore.withShards(address(text), options, isCopied: true)
      defer { store.close() }
      let log = SharedLogCopy(store)
      try copy(store.logID, store.epoch) { each throws(StoreError) in try log.read(each) }
    #else
      failWithoutEtcd()
    #endif
  }

  /// Makes a log at this address, of the models that `models` passes to its argument.
  func write(
    to text: String, logID: LogID, epoch: Epoch,
    _ models: ((StoredModel) throws(StoreError) -> Void) throws(StoreError) -> Void
  ) throws(StoreError) {
    #if Etcd
      try EtcdStore.restore(logID: logID, epoch: epoch, to: address(text), options) { store throws(StoreError) in
        let copy = SharedLogCopy(store)
        var writing = SharedLogCopy.Writing()
        try models { model throws(StoreError) in try copy.add(model, to: &writing) }
        try copy.finish(&writing)
      }
    #else
      failWithoutEtcd()
    #endif
  }

  #if Etcd
    var options: EtcdOptions {
      var options = EtcdOptions()
      (options.ca, options.certificate, options.key) = (
        ca.map(absolutePath), certificate.map(absolutePath), key.map(absolutePath)
      )
      (options.user, options.passwordFile, options.quota) = (user, passwordFile.map(absolutePath), quota)
      return options
    }

    func address(_ text: String) -> EtcdAddress {
      do throws(EtcdAddress.ParseError) { return try EtcdAddress(text) } catch { fail(error.description, 64) }
    }
  #else
    func failWithoutEtcd() -> Never {
      fail("This bindhub is built without etcd. Build it with:  swift build --traits WebTLS,Etcd", 78)
    }
  #endif
}
