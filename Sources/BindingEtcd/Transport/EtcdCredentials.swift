#if Etcd
  import BindingHub
  import Foundation

  /// The user with which the hub speaks to etcd.
  struct EtcdCredentials: Sendable {
    private let user: String?
    private let passwordFile: String
    private let password: String
    /// The token that etcd gave; empty: none.
    var token = ""

    /// Reads the password.
    /// - Throws: `StoreError` that names the file.
    init(_ options: EtcdOptions) throws(StoreError) {
      user = options.user
      passwordFile = options.passwordFile ?? ""
      guard let user else {
        password = ""
        return
      }
      guard let path = options.passwordFile else {
        throw StoreError("the user \(user) of etcd needs a file with the password", .cannotOpen)
      }
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw StoreError("the password of etcd's user \(user) cannot be read from \(path)", .cannotOpen)
      }
      password = String(text.prefix { !$0.isNewline })
      guard !password.isEmpty else {
        throw StoreError(
          "the first line of \(path) is empty: write the password of etcd's user \(user) there", .cannotOpen)
      }
    }

    var hasUser: Bool { user != nil }
    var needsToken: Bool { user != nil && token.isEmpty }
    var request: [UInt8] { EtcdRequest.authenticate(user ?? "", password) }

    mutating func forget() { token = "" }

    /// Whether a refusal is remedied by another token.
    func isStale(_ status: Int, _ text: String) -> Bool {
      text.contains("revision in header is old") || hasUser && (status == 16 || text.contains("invalid auth token"))
    }

    /// What a refusal means that no try remedies; nil: a try may.
    func error(_ text: String, _ address: EtcdAddress) -> StoreError? {
      let who = user.map { "the user \($0)" } ?? "a hub without user"
      if text.contains("authentication failed") {
        return StoreError(
          "etcd does not know \(who) with the password in \(passwordFile): correct one of them", .cannotOpen)
      }
      if text.contains("user name is empty") || text.contains("invalid auth token") {
        return StoreError(
          "etcd wants a user, and the hub has none: name a user with a password file, or a client certificate",
          .cannotOpen)
      }
      if text.contains("authentication is not enabled") {
        return StoreError(
          "etcd knows no users: leave out the user, or enable them with etcdctl auth enable", .cannotOpen)
      }
      if text.contains("permission denied") {
        return StoreError(
          "\(who) may not read and write below \(address.prefix)/ in etcd: etcdctl role grant-permission ROLE "
            + "--prefix=true readwrite \(address.prefix)/", .cannotOpen)
      }
      return nil
    }
  }
#endif
