import BindingPeer
import BindingTerminal

/// Prints the past of a watched model, up to where its updates begin.
struct PastOfWatch {
  let printer: WatchPrinter
  let peer: Peer
  let model: SharedModel
  let common: CommonOptions

  /// Prints the commits from a version on, and then lets the printer go on with the updates.
  /// - Returns: why it cannot; nil: it has, or the watch has ended.
  func show(from version: Version, of address: Address) async -> Failure? {
    guard await model.whenCurrent(timeout: common.timeout.duration) else {
      if Task.isCancelled { return nil }
      return model.status.refusal.map(Failure.init) ?? .late(model.id, timeout: common.timeout)
    }
    // Updates are kept from before now on, so nothing is between the two.
    let begin = printer.begin(of: model.id) ?? model.version
    var query = SharedModel.HistoryQuery()
    query.isOldestFirst = true
    let fields = PastFields(address.wireField.map { [$0] } ?? [], of: address, in: model)
    query.fields = fields.query
    if version <= begin.version {
      query.versions = version...begin.version
      if let failure = await show(query, of: fields, from: version) { return failure }
    }
    printer.release(model.id, begin, of: address.field)
    return nil
  }

  private func show(
    _ query: SharedModel.HistoryQuery, of fields: PastFields, from version: Version
  ) async -> Failure? {
    var next: SharedModel.HistoryQuery? = query
    var isFirst = true
    while let asked = next, !Task.isCancelled {
      do {
        let page = try await model.historyPage(asked, timeout: common.timeout.duration)
        if isFirst, page.horizon.version > max(version, 1), let words = page.horizon.words(of: model.id) {
          Terminal.complain("! \(words)")
        }
        isFirst = false
        for commit in page.commits { fields.part(of: commit).map { printer.print($0, of: model.id) } }
        next = page.next
      } catch {
        return Task.isCancelled ? nil : Failure(error, of: model.id, from: peer)
      }
    }
    return nil
  }
}
