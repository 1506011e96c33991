import BindingPeer

/// A change of one field, as `watch` prints it: of a list the elements, and not the head that counts them.
struct WatchedField {
  private let field: String
  private let new: FieldValue?

  init(_ field: String, _ new: FieldValue?) {
    self.field = field
    self.new = new
  }

  /// - Parameter filter: the field, list or element (by its name on the wire) that is watched; nil: all.
  func isShown(_ filter: String?, json: Bool) -> Bool {
    guard !field.hasPrefix("@") else { return false }
    if let filter, field != filter {
      guard ListElements.parts(of: field)?.list ?? "" == filter else { return false }
    }
    return json || new.flatMap(ListElements.count(ofHead:)) == nil
  }

  private var title: String { FieldTitle.of(field) }

  /// `level 0.3 → 0.8`; of an element that kept its value `cues[id=7] moved`.
  func words(old: FieldValue?, in described: ModelDescription) -> String {
    let former = FieldTitle.value(old, of: field)
    if let former, let shown = FieldTitle.value(new, of: field), former == shown, old != new { return "\(title) moved" }
    let before = old.map { "\(described.readable($0, of: field)) " } ?? ""
    return "\(title) \(before)→ \(new.map { described.readable($0, of: field) } ?? "deleted")"
  }

  func plainWords(in described: ModelDescription) -> String {
    "\(title) \(new.map { described.readable($0, of: field) } ?? "deleted")"
  }
}

extension JSONLine {
  /// Begins a line with the members that all lines of `watch` have.
  init(of model: String, _ epoch: Epoch, _ version: Version) {
    self.init()
    add("model", .string(model))
    add("epoch", .string(String(epoch, radix: 16)))
    add("version", .integer(Int64(clamping: version)))
  }
}
