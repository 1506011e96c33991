/// How much of a hub with keys one name may use, over all its connections and sessions.
package struct NameLimits: Hashable, Sendable {
  /// What is limited. The text is the member of a role's `limits`.
  package enum Kind: String, CaseIterable, Sendable {
    /// Request connections open at a time; and as many to the publishing socket.
    case connections
    /// Sessions open at a time.
    case sessions
    /// Existing models that its joins made in this start of the hub.
    case models
    /// Bytes of proposals.
    case bytesPerSecond
    /// Proposals, refused ones included.
    case writesPerSecond
    /// Models subscribed to on the publishing socket.
    case subscriptions

    /// The limit of a name whose roles say nothing. A person's devices stay far below: `docs/operate/security.md` has
    /// the reasons.
    package var standard: Int {
      switch self {
      case .connections: 64
      case .sessions: 128
      case .models: 10_000
      case .bytesPerSecond: 4_194_304
      case .writesPerSecond: 5_000
      case .subscriptions: 20_000
      }
    }

    /// The highest limit that can be given.
    package static let highest = TokenBucket.highestRate
  }

  private var given: [Kind: Int]

  /// - Parameter given: the limits that differ from the standard ones.
  package init(_ given: [Kind: Int] = [:]) { self.given = given }

  package subscript(kind: Kind) -> Int { given[kind] ?? kind.standard }

  /// What several roles allow together: each limit is the most generous one. A role that does not name a limit has the
  /// standard one.
  package init(ofRoles roles: [[Kind: Int]]) {
    given = [:]
    guard !roles.isEmpty else { return }
    for kind in Kind.allCases { given[kind] = roles.map { $0[kind] ?? kind.standard }.max() }
  }
}

extension AccessPolicy {
  /// The limits of somebody whom a hub has let in; nil: none.
  /// - Parameter policy: nil: no file says anything.
  package static func limits(of user: HubPrincipal, by policy: AccessPolicy?) -> NameLimits? {
    guard let names = policy?.roleNames(of: user) else {
      // Without a file a member has the standard limits, and who runs the hub has none.
      if case .named = user { return NameLimits() }
      return nil
    }
    return NameLimits(ofRoles: names.compactMap { policy?.roles[$0] == nil ? nil : policy?.limits[$0] ?? [:] })
  }
}
