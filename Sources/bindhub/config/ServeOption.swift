import BindingProtocol

/// An option of `bindhub serve`. It may also stand in a file of options and in the environment.
struct ServeOption: Sendable {
  enum Kind: Sendable {
    case value
    /// Any number of values, the name before each.
    case list
    /// Two values after one name.
    case pair
    /// Yes or no.
    case flag
    /// An address, or yes for the usual one.
    case address
  }
  let name: String
  let kind: Kind
  /// Whether its values are files or directories.
  var isPath = false
  var otherNames: [String] = []
  /// What counts where nobody names it; nil: nothing.
  var usual: @Sendable (Serve) -> String? = { _ in nil }

  /// The variable of the environment with its value.
  var variable: String { "BINDHUB_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined() }

  /// All of them, in the order in which they are shown.
  static let all: [ServeOption] = [
    ServeOption(name: "listen", kind: .list, usual: { $0.listeners.map(\.description).joined(separator: " ") }),
    ServeOption(name: "name", kind: .value, usual: \.name),
    ServeOption(
      name: "store", kind: .value, isPath: true,
      usual: { serve in
        serve.upstream == nil ? serve.storeChoice.path(for: serve.listeners.first) ?? "memory" : nil
      }),
    ServeOption(
      name: "durability", kind: .value,
      usual: { serve in
        if serve.upstream != nil || serve.storeChoice.etcd != nil { return nil }
        return serve.storeChoice.path(for: serve.listeners.first) == nil ? "memory" : "process"
      }),
    ServeOption(name: "keys", kind: .value, isPath: true, usual: { $0.keysDirectory(for: $0.listeners) }),
    ServeOption(name: "insecure", kind: .flag, usual: { _ in "no" }),
    ServeOption(name: "web", kind: .address),
    ServeOption(name: "web-tls", kind: .pair, isPath: true),
    ServeOption(name: "web-origin", kind: .list),
    ServeOption(name: "web-proxy", kind: .list),
    ServeOption(name: "web-open", kind: .flag, usual: { $0.webChoice.web == nil ? nil : "no" }),
    ServeOption(name: "pages", kind: .value, isPath: true),
    ServeOption(name: "upstream", kind: .value),
    ServeOption(name: "sibling", kind: .list),
    ServeOption(name: "etcd-ca", kind: .value, isPath: true),
    ServeOption(name: "etcd-cert", kind: .value, isPath: true),
    ServeOption(name: "etcd-key", kind: .value, isPath: true),
    ServeOption(name: "etcd-user", kind: .value),
    ServeOption(name: "etcd-password-file", kind: .value, isPath: true),
    ServeOption(name: "etcd-quota", kind: .value),
    ServeOption(name: "heartbeat", kind: .value, otherNames: ["beat"], usual: { "\($0.intervals.heartbeat)" }),
    ServeOption(name: "lease", kind: .value, usual: { "\($0.intervals.lease)" }),
    ServeOption(name: "no-recovery", kind: .flag, otherNames: ["no-rescue"], usual: { _ in "no" }),
    ServeOption(name: "exit-with-stdin", kind: .flag, usual: { _ in "no" }),
    ServeOption(name: "log", kind: .value, usual: \.level),
  ]

  static func named(_ name: String) -> ServeOption? {
    all.first { $0.name == name || $0.otherNames.contains(name) }
  }
}
