/// The models of a bridge: some by their ids, and all below some prefixes, `""` is all.
struct ModelSelection: Sendable {
  let ids: [String]
  let prefixes: [String]

  /// Ids, and prefixes that are empty or end in `/`.
  init(_ names: [String]) {
    prefixes = names.filter { $0.isEmpty || $0.hasSuffix("/") }
    ids = names.filter { !$0.isEmpty && !$0.hasSuffix("/") }
  }

  func contains(_ id: String) -> Bool { ids.contains(id) || prefixes.contains(where: id.hasPrefix) }
}
