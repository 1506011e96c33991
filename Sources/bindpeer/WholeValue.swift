import BindingPeer

extension SharedModel {
  /// The operations that give a field a whole value; of a list the least that make it of the present one.
  func operations(setting field: String, to value: FieldValue) throws(ListError) -> [FieldOperation] {
    guard let elements = value.elements, let list = UntypedList(field, in: self) else {
      return [FieldOperation(.set, field, value)]
    }
    return try list.operations(to: elements)
  }

  /// Writes an edited text so that edits of others are merged with it; nil: the field is none whose texts are merged.
  func merge(_ value: FieldValue?, into field: String, editedFrom base: FieldValue?) throws -> PendingWrite? {
    guard modelDescription.fields[field]?.policy == ConflictPolicy.text.name, let text = try value?.json.string,
      let before = try base?.json.string
    else { return nil }
    return try write(text, to: field, editedFrom: before)
  }
}
