import BindingProtocol

extension ModelLog {
  /// Sets the heads of lists whose elements the pending batch has recovered or deleted, in a commit without a number:
  /// what replicas tell of heads counts other elements (protocol.md 6.5-9).
  func setRecoveredHeads() {
    let pending = batch.pending
    guard pending.isOpen, fields.elementNames > 0, let last = pending.recoveredFields.last?.field else { return }
    batch.lists.forget()
    var lists: Set<String> = []
    for (field, _) in pending.recoveredFields {
      let name = fields[field].name
      if let list = ListElements.parts(of: name)?.list { lists.insert(String(list)) } else { lists.insert(name) }
    }
    let heads = lists.sorted().compactMap { list -> (String, FieldValue)? in
      let (count, present) = (order(of: list).count, fields.id(of: list).flatMap { presentValue($0) })
      let isHead = present.map { ListElements.count(ofHead: $0) != nil } ?? false
      guard count > 0 || isHead, present != ListElements.head(count) else { return nil }
      return (list, ListElements.head(count))
    }
    guard !heads.isEmpty else { return }
    let version = nextVersion
    let writer = fields.decided(last).writer
    pending.commits.beginCommit(origin: pending.commits.origin(origin(ofWriter: writer)), number: 0, hops: 0)
    for (list, head) in heads {
      let id = fields.id(of: list) ?? introduce(list)
      guard pending.commits.change(id, head) else { break }
      record(id, version, value: pending.commits.lastValue(of: head.bytes.count), by: writer)
    }
    pending.commits.endCommit()
  }
}
