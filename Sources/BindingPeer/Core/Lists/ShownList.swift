package import BindingProtocol

/// What a list shows, in order: the committed elements under the pending operations of this peer.
package struct ShownList: Sendable, Equatable {
  /// The list's name, which is that of its head.
  package var name: String
  /// The ids of the elements.
  package var ids: [String] = []
  /// The elements, each as the JSON that was written.
  package var values: [FieldValue] = []
  /// Whether a pending operation of this peer concerns an element.
  package var isOurs = false
  /// Whether the list was ever written: it has elements, or a head.
  package var isWritten = false

  /// The list as one JSON value.
  package var array: FieldValue { ListElements.array(of: values) }
}

/// The value of an element's field while an operation of this peer is pending on it.
///
/// Only the hub assigns ranks: the field of an element that is being inserted has the value `{"is":ELEMENT}`, which
/// other readers pass over.
enum PendingElement {
  private static let start = "{\"is\":"

  /// The value after an insertion; nil if its operand is malformed.
  static func inserted(_ operand: FieldValue) -> FieldValue? {
    let read = operand.bytes.withUnsafeBytes { operand in
      try? ListOperand(.insert, reading: operand)
    }
    return read?.element.map(enclosed)
  }

  /// The value after a replacement.
  static func replacing(_ value: FieldValue, by element: FieldValue) -> FieldValue {
    guard let stored = ListElements.stored(value) else { return enclosed(element) }
    return ListElements.value(at: stored.rank, element)
  }

  /// The element in the value of its field, with or without a rank; nil: the value is none.
  static func element(of value: FieldValue) -> FieldValue? {
    guard value.bytes.starts(with: start.utf8), value.bytes.last == UInt8(ascii: "}") else {
      return ListElements.stored(value)?.element
    }
    return FieldValue(bytes: Array(value.bytes[start.utf8.count..<(value.bytes.count - 1)]))
  }

  private static func enclosed(_ element: FieldValue) -> FieldValue {
    FieldValue(bytes: Array(start.utf8) + element.bytes + [UInt8(ascii: "}")])
  }
}

extension ShownChange {
  /// Whether the field was or is the head of a list.
  var concernsHead: Bool { new.map(ShownChange.isHead) ?? false || old.map(ShownChange.isHead) ?? false }

  private static func isHead(_ value: FieldValue) -> Bool {
    value.bytes.first == UInt8(ascii: "{") && ListElements.count(ofHead: value) != nil
  }
}
