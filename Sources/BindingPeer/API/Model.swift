import BindingProtocol

/// A named set of fields that peers share:
/// ```swift
/// struct Lamp: Model {
///   @Field var on = false
///   @Field(0...1) var level = 0.3
/// }
/// let lamp = try await peer.share(Lamp.self, id: "lamp")
/// ```
/// A model is a struct whose stored properties are all `@Field`. Copies of one value are the same model.
public protocol Model: Sendable {
  /// Creates the model as it is declared: each field has its default. Structs have it without writing it.
  init()
  /// The release of the declaration: `static let release = 2`. Programs of several releases may share a model at the
  /// same time. Titles, defaults and the like are those of the highest one; ranges and choices allow what any of them
  /// allows. 0, if it is not declared.
  static var release: Int { get }
  /// Does nothing. If a class conforms, the compiler's message is attached here.
  static func _isStruct()
}

extension Model {
  /// 0: the first release.
  public static var release: Int { 0 }
  /// Does nothing.
  public static func _isStruct() {}
}

extension Model {
  /// The model behind the fields; nil until it is shared.
  public var shared: SharedModel? {
    for child in Mirror(reflecting: self).children {
      if let field = child.value as? any AnyField {
        return field.anyCell.sharedModel.map { $0.stored ?? $0 }
      }
    }
    return nil
  }

  /// Writes several fields as one commit: one version and one turn of observers everywhere, or nothing.
  ///
  /// Inside the closure the fields read as assigned; outside nothing shows before it ends. Fields of other models are
  /// written as usual.
  /// - Throws: what `body` throws (then nothing is written), or `ChangeError`.
  @discardableResult
  public func change(_ body: (Self) throws -> Void) throws -> PendingWrite { try change(.undoable, body) }

  /// Writes several fields as one commit, and says whether undo records it; see `change(_:)` and `SharedModel.Undoing`.
  @discardableResult
  public func change(
    _ recording: SharedModel.Undoing.Recording, _ body: (Self) throws -> Void
  ) throws -> PendingWrite {
    guard let shared else { throw FieldError.notShared(field: "\(Self.self)") }
    let draft = ChangeDraft(of: shared)
    try draft.run { () throws in try body(self) }
    let finished = try draft.finished()
    if let unchanged = finished.unchanged(shared.version.version) { return unchanged }
    return try shared.write(finished.proposal, policies: finished.policies, recording: recording) {
      finished.accept($0)
    }
  }

  /// Deletes the model: every field, in one commit. Programs that share it then show the declared defaults.
  @discardableResult
  public func remove() throws -> PendingWrite {
    guard let shared else { throw FieldError.notShared(field: "\(Self.self)") }
    return try shared.remove()
  }

  /// The stored names of renamed fields, by their present names.
  var fieldAliases: [String: String] {
    var aliases: [String: String] = [:]
    for (label, cell) in labelledCells { aliases[cell.declaredName ?? label] = cell.formerName }
    return aliases
  }

  /// The fields with the names under which they are stored.
  var fieldCells: [(name: String, cell: any AnyFieldCell)] {
    labelledCells.map { ($1.formerName ?? $1.declaredName ?? $0, $1) }
  }

  /// The fields with the names of their properties.
  private var labelledCells: [(label: String, cell: any AnyFieldCell)] {
    Mirror(reflecting: self).children.compactMap { child in
      guard let label = child.label, let field = child.value as? any AnyField else { return nil }
      return (label.hasPrefix("_") ? String(label.dropFirst()) : label, field.anyCell)
    }
  }
}

/// A `@Field` of any type, as reflection finds it.
protocol AnyField {
  var anyCell: any AnyFieldCell { get }
}

extension Field: AnyField {
  var anyCell: any AnyFieldCell { cell }
}
