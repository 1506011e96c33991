/// What a hub can do beyond the messages that every hub knows; told in the welcome.
public enum Capability {
  /// Ephemeral lines: fields that go with who wrote them, presence, owners (§9).
  public static let ephemeral = "ephemeral"
}
