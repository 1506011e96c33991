/// Optional parts of the protocol, beyond the messages that every hub and peer understands: named in hello and
/// welcome.
package enum Capability {
  /// The sender reports, when asked, up to which version a model is applied: the kinds `await`, `awaited`, `ask`
  /// and `report` (§5.3).
  package static let applied = "applied"
  /// Ephemeral models: fields that vanish with their writer's session, presence, owners; the kinds `approve` and
  /// `approval` (§9).
  package static let ephemeral = "ephemeral"
  /// Keeps a write from being applied twice after a loss: a proposal states that it was first sent in an earlier
  /// epoch, an offer which numbers were seen (§6.1, §7).
  package static let recovery = "rescue"

  /// Wants to be told what it may do in each model: the kind `rights` (§15.5).
  package static let rights = "rights"
  /// Reads the form of a writer that names its user (§5.2). A hub with keys refuses a hello without it.
  package static let users = "users"

  /// No capability but a warning, of a hub alone: whoever reaches it from another machine may read and write everything
  /// (§4.1).
  package static let insecure = "insecure"
  /// Takes sessions for somebody else (§15.6): in the welcome of such a session. The hello of one names
  /// `Representation.text`.
  package static let representing = "for"
  /// The member that a session is for has the right `admin`: in the welcome of such a session.
  package static let administering = "admin"
  /// In a welcome alone: the hub was recreated by `bindhub recover` and looks for replicas of any epoch (§7).
  package static let recovering = "recovering"
  /// In a welcome with the durability `disk`: what is acknowledged also survives the loss of any minority of the nodes
  /// of the store that the hub shares with others (§17).
  package static let replicated = "replicated"
  /// Wants to be told which keys the hub has and will have: the kind `keys` (§15.8).
  package static let keys = "keys"
  /// Carries out time limits: a field that expires falls back to its default (§8.1). No message depends on it.
  package static let expires = "expires"

  /// The hub merges the descriptions that peers share: the verb `describe` (§8).
  package static let describe = "describe"
  /// Asks for earlier commits, or answers: the kinds `history` and `past` (§5.5).
  package static let history = "history"
  /// Knows lists: the names of their elements and the verbs that change them (§6.5). Without it a peer is not served
  /// models that have lists.
  package static let lists = "lists"

  /// A session that only writes (§16): it is sent topics, marks, outcomes and errors, and nothing that is read. In a
  /// welcome: the hub takes such sessions.
  package static let writes = "writes"
  /// An edge says this hello without a word of the peer for which it is (4.1-9).
  package static let again = "again"
  /// Wants its joins answered with nothing older than what the hub above this one has: in the hello of a session at an
  /// edge (§16), or at a hub that shares its log (§17). Other hubs always do.
  package static let latest = "latest"
  /// Wants to be told whether an edge reaches its upstream hub, and a hub the log that it shares (§17): the kind
  /// `upstream`, and the reason `upstream` of a `retryLater` (§16).
  package static let upstream = "upstream"

  /// Wants to be told the other hubs of the same log: the kind `hubs` (§4.6).
  package static let hubs = "hubs"

  /// A hub, in its hello to another hub of the same log: of an ephemeral model it is served what that hub's own peers
  /// have in it (§17.2).
  package static let sibling = "sibling"
  /// A hub, in its hello to another hub of the same log: it tells how many of its own peers have applied a version: the
  /// kinds `count` and `counted` (§17.5).
  package static let counts = "counts"
  /// In a welcome alone: the hub decides what other hubs of the same log pass on to it: the kind `forward` (§17.3).
  package static let forward = "forward"
  /// In a welcome alone: the hub asks the owner of a model, and passes on to the owner's hub what others write (§17.4).
  package static let owners = "owners"

  /// An edge, in its hello upstream and in its welcome: by these an edge notices that it would follow itself.
  package static func edge(_ number: UInt64) -> String { "edge:" + String(number, radix: 16) }

  /// The number of the edge that a capability names; nil: it names none.
  package static func edgeNumber(_ capability: String) -> UInt64? {
    capability.hasPrefix("edge:") ? UInt64(capability.dropFirst(5), radix: 16) : nil
  }

  /// The draft of protocol 0 that this code speaks: the hash of the grammar in docs/reference/protocol.md. Until that
  /// grammar is released as protocol 1 it may change, and both sides say so if they speak different drafts.
  package static let draft = "draft-d4fda9ba"

  /// All capabilities of this version.
  package static let all = [
    applied, ephemeral, recovery, rights, users, keys, describe, expires, lists, history, upstream, hubs, draft,
  ]

  /// The draft that the sender of these capabilities speaks, if it names another one than ours.
  package static func otherDraft(in capabilities: [String]) -> String? {
    capabilities.first { $0.hasPrefix("draft-") && $0 != draft }
  }
}
