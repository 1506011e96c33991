import BindingProtocol

extension Replica {
  /// The fields that were committed after a version, deleted ones included; after 0 all that have a value. A field that
  /// a snapshot removed is not included: a snapshot does not say when.
  func committed(after version: Version) -> [CommittedField] {
    fields.compactMap { field in
      guard field.version > version, version > 0 || field.value != nil else { return nil }
      return CommittedField(
        name: field.name, value: field.value, version: field.version, origin: field.origin, number: field.number,
        time: field.time)
    }
  }
}
