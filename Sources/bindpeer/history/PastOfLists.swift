import BindingPeer
import BindingTerminal

/// Which fields of earlier commits are asked for: a list is asked for with its elements.
struct PastFields {
  /// Empty: all.
  private let names: [String]
  private let list: String?

  init(_ names: [String], of address: Address, in model: SharedModel) {
    self.names = names
    list = address.element == nil ? address.field.flatMap { UntypedList($0, in: model)?.name } : nil
  }

  /// What the hub is asked for. It does not know which fields the elements of a list had.
  var query: [String] { list == nil ? names : [] }

  /// What of a commit is asked for; nil: nothing.
  func part(of commit: SharedModel.PastCommit) -> SharedModel.PastCommit? {
    guard let list else { return commit }
    var part = commit
    part.changes.removeAll { !names.contains($0.field) && ListElements.parts(of: $0.field)?.list != list[...] }
    return part.changes.isEmpty ? nil : part
  }
}

extension [SharedModel.PastCommit.Change] {
  /// The changes for display: the number of elements says nothing beside the elements.
  var shown: [Element] {
    let shown = filter { $0.value.flatMap(ListElements.count(ofHead:)) == nil }
    return shown.isEmpty ? self : shown
  }
}

/// A list, and what it was at an earlier version.
struct RevertedList {
  let list: UntypedList
  private let past: [(id: String, element: FieldValue)]

  /// - Parameter values: what the fields of its elements had.
  init(_ list: UntypedList, at values: [String: PastValue]) {
    self.list = list
    let fields = values.compactMap { field, value in value.value.map { (name: field, value: $0) } }
    past = ListElements.ordered(list.name, in: fields)
  }

  /// What an element was; nil: it was not there.
  func element(_ id: String) -> FieldValue? { past.first { $0.id == id }?.element }

  /// The operations after which these elements are what they were; nil: all are, in the order that they had.
  func operations(of ids: Swift.Set<String>?) throws(ListError) -> [FieldOperation] {
    guard let ids else { return try list.operations(to: past.map(\.element)) }
    var elements = zip(list.ids, list.elements).filter { id, _ in !ids.contains(id) || element(id) != nil }
      .map { id, now in (id: id, element: ids.contains(id) ? element(id) ?? now : now) }
    for (index, missing) in past.enumerated() where ids.contains(missing.id) && list[missing.id] == nil {
      let before = past[..<index].reversed().lazy.compactMap { other in elements.firstIndex { $0.id == other.id } }
      elements.insert(missing, at: before.first.map { $0 + 1 } ?? 0)
    }
    return try list.operations(to: elements.map(\.element))
  }
}
