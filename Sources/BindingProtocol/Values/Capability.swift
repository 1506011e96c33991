/// What goes beyond the messages that every hub and every peer knows: named in hello and welcome.
public enum Capability {
  /// Who names it says, when asked, up to which version a model is applied: the kinds `await`, `awaited`, `ask` and
  /// `report` (§5.3).
  public static let applied = "applied"
  /// Ephemeral lines: fields that go with who wrote them, presence, owners; the kinds `approve` and `approval` (§9).
  public static let ephemeral = "ephemeral"
  /// What keeps a write from being carried out twice after a loss: a proposal says that it was first sent in an earlier
  /// epoch, an offer which numbers were seen (§6.1, §7).
  public static let recovery = "rescue"

  /// All that this version knows.
  public static let all = [applied, ephemeral, recovery]
}
