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

  /// All capabilities of this version.
  package static let all = [applied, ephemeral, recovery]
}
